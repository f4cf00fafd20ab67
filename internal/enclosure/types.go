package enclosure

import "fmt"

// Page codes of the SES diagnostic pages that this package asks for or meets.
const (
	PageConfiguration byte = 0x01
	PageStatus        byte = 0x02
	PageThreshold     byte = 0x05
	PageDescriptor    byte = 0x07
	PageShortStatus   byte = 0x08
	PageBusy          byte = 0x09
	PageAdditional    byte = 0x0a
)

// PageName is the name a page has in labels and messages.
func PageName(page byte) string {
	switch page {
	case PageConfiguration:
		return "configuration"
	case PageStatus:
		return "status"
	case PageThreshold:
		return "threshold"
	case PageDescriptor:
		return "descriptor"
	case PageAdditional:
		return "additional"
	}
	return fmt.Sprintf("page_%02x", page)
}

// ElementType is the type code of an element.
type ElementType byte

// The element types whose bytes are decoded beyond the common ones.
const (
	TypeDeviceSlot        ElementType = 0x01
	TypePowerSupply       ElementType = 0x02
	TypeCooling           ElementType = 0x03
	TypeTemperature       ElementType = 0x04
	TypeDoor              ElementType = 0x05
	TypeAlarm             ElementType = 0x06
	TypeController        ElementType = 0x07
	TypeSCCController     ElementType = 0x08
	TypeCache             ElementType = 0x09
	TypeUPS               ElementType = 0x0b
	TypeDisplay           ElementType = 0x0c
	TypeKeypad            ElementType = 0x0d
	TypeEnclosure         ElementType = 0x0e
	TypePort              ElementType = 0x0f
	TypeCommunicationPort ElementType = 0x11
	TypeVoltage           ElementType = 0x12
	TypeCurrent           ElementType = 0x13
	TypeTargetPort        ElementType = 0x14
	TypeInitiatorPort     ElementType = 0x15
	TypeSubenclosure      ElementType = 0x16
	TypeArrayDeviceSlot   ElementType = 0x17
	TypeExpander          ElementType = 0x18
	TypeConnector         ElementType = 0x19
)

// String is the type's label value.
func (t ElementType) String() string {
	names := [...]string{
		"unspecified", "device_slot", "power_supply", "cooling", "temperature", "door", "alarm",
		"controller", "scc_controller", "nv_cache", "invalid_operation", "ups", "display", "keypad",
		"enclosure", "scsi_port", "language", "communication_port", "voltage", "current",
		"target_port", "initiator_port", "subenclosure", "array_device_slot", "sas_expander", "sas_connector",
	}
	switch {
	case int(t) < len(names):
		return names[t]
	case t >= 0x80:
		return fmt.Sprintf("vendor_%02x", byte(t))
	}
	return fmt.Sprintf("reserved_%02x", byte(t))
}

// IsSlot says whether elements of the type hold a disk.
func (t ElementType) IsSlot() bool { return t == TypeDeviceSlot || t == TypeArrayDeviceSlot }

// StatusCode is the low half of an element's first status byte.
type StatusCode byte

// The status codes; 9 to 15 are reserved.
const (
	StatusUnsupported StatusCode = iota
	StatusOK
	StatusCritical
	StatusNoncritical
	StatusUnrecoverable
	StatusNotInstalled
	StatusUnknown
	StatusNotAvailable
	StatusNoAccess
)

// String is the code's label value.
func (s StatusCode) String() string {
	names := StatusNames()
	if int(s) < len(names) {
		return names[s]
	}
	return "reserved"
}

// StatusNames lists the label values of the codes 0 to 8, in their order.
func StatusNames() []string {
	return []string{
		"unsupported", "ok", "critical", "noncritical", "unrecoverable",
		"not_installed", "unknown", "not_available", "no_access",
	}
}

// Known says whether the shelf made a statement about the element: it is fine,
// it is not, or it is not there.
func (s StatusCode) Known() bool { return s >= StatusOK && s <= StatusNotInstalled }

// Installed says whether readings of the element mean something.
func (s StatusCode) Installed() bool { return s >= StatusOK && s <= StatusUnrecoverable }
