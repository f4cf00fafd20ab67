package ceph

// For tests that import packages which import this one.
var (
	ComparePGs = comparePGs
	Trimmed    = func() any { return new(trimmed) }
)
