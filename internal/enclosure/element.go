package enclosure

import "encoding/binary"

// temperatureOffset is what SES adds to a temperature to keep it positive.
const temperatureOffset = 20

// Status is the element's status code, without the bits beside it.
func (r Raw) Status() StatusCode { return StatusCode(r[0] & 0xf) }

// PredictedFailure, Disabled and Swapped are the bits beside the status code.
// Swapped says that the part was exchanged at some time; it is not a fault.
func (r Raw) PredictedFailure() bool { return r[0]&0x40 != 0 }

// Disabled is the DISABLED bit.
func (r Raw) Disabled() bool { return r[0]&0x20 != 0 }

// Swapped is the SWAP bit.
func (r Raw) Swapped() bool { return r[0]&0x10 != 0 }

// Celsius is a temperature sensor's reading; false where there is none.
func (r Raw) Celsius() (float64, bool) {
	if !r.Status().Installed() || r[2] == 0 {
		return 0, false
	}
	return float64(r[2]) - temperatureOffset, true
}

// Volts is a voltage sensor's reading; false where there is none. Rails may be
// negative.
func (r Raw) Volts() (float64, bool) {
	return float64(int16(binary.BigEndian.Uint16(r[2:]))) / 100, r.Status().Installed()
}

// Amperes is a current sensor's reading; false where there is none.
func (r Raw) Amperes() (float64, bool) {
	return float64(int16(binary.BigEndian.Uint16(r[2:]))) / 100, r.Status().Installed()
}

// RPM is a fan's speed; false where there is none. Since SES-4 two bits say how
// the eleven of the speed are to be read.
func (r Raw) RPM() (float64, bool) {
	raw := float64(int(r[1]&7)<<8 | int(r[2]))
	ok := r.Status().Installed()
	switch r[1] >> 3 & 3 {
	case 0:
		return raw * 10, ok
	case 1:
		return raw*10 + 20480, ok
	case 2:
		return raw * 100, ok
	}
	return 0, false
}

// Identify is a slot's locate LED.
func (r Raw) Identify() bool { return r[2]&0x02 != 0 }

// FaultSensed is a slot's fault as the shelf found it.
func (r Raw) FaultSensed() bool { return r[3]&0x40 != 0 }

// FaultRequested is a slot's fault LED as a host asked for it.
func (r Raw) FaultRequested() bool { return r[3]&0x20 != 0 }

// Occupied says whether a slot holds a device; known is false where the shelf
// does not say.
func (r Raw) Occupied() (occupied, known bool) {
	switch s := r.Status(); {
	case s == StatusNotInstalled:
		return false, true
	case s.Installed():
		return true, true
	default:
		return false, false
	}
}

// Reports is the REPORT bit of a controller element: it stands for the SES
// process that answered.
func (r Raw) Reports() bool { return r[2]&0x01 != 0 }

// flagBit is one alertable bit.
type flagBit struct {
	name string
	at   int // byte
	mask byte
}

// flagBits lists the bits of a type that tell of a fault. Requests, capabilities
// and the SWAP and INFO bits are not among them.
func flagBits(t ElementType) []flagBit {
	switch t {
	case TypePowerSupply:
		return []flagBit{
			{"dc_overvoltage", 2, 0x08}, {"dc_undervoltage", 2, 0x04}, {"dc_overcurrent", 2, 0x02},
			{"fail", 3, 0x40}, {"off", 3, 0x10}, {"over_temperature_fail", 3, 0x08},
			{"temperature_warning", 3, 0x04}, {"ac_fail", 3, 0x02}, {"dc_fail", 3, 0x01},
		}
	case TypeCooling:
		return []flagBit{{"fail", 3, 0x40}, {"off", 3, 0x10}}
	case TypeTemperature:
		return []flagBit{
			{"fail", 1, 0x40}, {"over_temperature_fail", 3, 0x08}, {"over_temperature_warning", 3, 0x04},
			{"under_temperature_fail", 3, 0x02}, {"under_temperature_warning", 3, 0x01},
		}
	case TypeDoor:
		return []flagBit{{"fail", 1, 0x40}, {"open", 3, 0x02}}
	case TypeUPS:
		return []flagBit{
			{"ac_low", 2, 0x80}, {"ac_high", 2, 0x40}, {"ac_quality", 2, 0x20}, {"ac_fail", 2, 0x10},
			{"dc_fail", 2, 0x08}, {"ups_fail", 2, 0x04}, {"warning", 2, 0x02}, {"interface_fail", 2, 0x01},
			{"fail", 3, 0x40}, {"battery_fail", 3, 0x02}, {"battery_predicted_failure", 3, 0x01},
		}
	case TypeEnclosure:
		return []flagBit{{"failure_indication", 2, 0x02}, {"warning_indication", 2, 0x01}}
	case TypeVoltage:
		return []flagBit{
			{"fail", 1, 0x40}, {"warning_over", 1, 0x08}, {"warning_under", 1, 0x04},
			{"critical_over", 1, 0x02}, {"critical_under", 1, 0x01},
		}
	case TypeCurrent:
		return []flagBit{{"fail", 1, 0x40}, {"warning_over", 1, 0x08}, {"critical_over", 1, 0x02}}
	case TypeConnector:
		return []flagBit{{"fail", 3, 0x40}, {"overcurrent", 3, 0x20}}
	case TypePort:
		return []flagBit{{"fail", 1, 0x40}, {"link_lost", 3, 0x02}, {"transmit_fail", 3, 0x01}}
	case TypeAlarm, TypeController, TypeSCCController, TypeCache, TypeDisplay, TypeKeypad, TypeCommunicationPort,
		TypeTargetPort, TypeInitiatorPort, TypeSubenclosure, TypeExpander:
		return []flagBit{{"fail", 1, 0x40}}
	}
	return nil
}

// bits returns the names of the fault bits that are set, whatever the status.
func (r Raw) bits(t ElementType) []string {
	var set []string
	for _, f := range append(flagBits(t), flagBit{"predicted_failure", 0, 0x40}, flagBit{"disabled", 0, 0x20}) {
		if r[f.at]&f.mask != 0 {
			set = append(set, f.name)
		}
	}
	return set
}

// Flags returns the names of the fault bits that are set. Faults of a slot
// itself have methods of their own. An element that is not there, or of which
// the shelf says nothing, has no flags.
func (r Raw) Flags(t ElementType) []string {
	if !r.Status().Installed() {
		return nil
	}
	return r.bits(t)
}
