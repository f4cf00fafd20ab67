// Package msa asks HPE MSA arrays (MSA2000 G2 and P2000 to 2060, and their
// relatives of the same API family) for their health through the XML API.
//
// The layers, from the outside in: Array polls one array over either of its
// two controllers and keeps sessions, back-off and the event log's state;
// client.go speaks HTTP to one controller; xml.go decodes an answer into
// objects and properties; parts.go gives these types. Whatever could not be
// checked against a real array (texts, codes, paths) is in dialect.go and
// nowhere else, so that a correction is one edit.
//
// Values are found by property name, never by position, and a value that the
// array does not give ("N/A", empty, a filler) is absent, never zero.
package msa
