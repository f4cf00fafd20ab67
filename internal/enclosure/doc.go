// Package enclosure knows the shelf around the disks: what its SES processes
// say (pure decoders of the diagnostic pages), how to ask them (SG_IO without
// cgo), and which OSD sits in which slot (a walk over sysfs links).
//
// Layouts are those of SES-4. Decoders take what a shelf really sends: pages
// that end early, missing pages, descriptors in an order the standard does not
// promise. What was not read is absent, never zero.
package enclosure
