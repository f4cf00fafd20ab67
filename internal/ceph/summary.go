package ceph

import (
	"fmt"
	"reflect"
)

// summary says in a few words what was decoded, for traces.
func summary(v any) string {
	switch v := v.(type) {
	case *PGTable:
		if v == nil {
			return ""
		}
		return fmt.Sprintf("%d PGs, %d entries bad, mgr ready: %t", len(v.PGs), v.BadCount, v.Ready)
	case *OSDMap:
		if v == nil {
			return ""
		}
		return fmt.Sprintf("%d OSDs, %d pools", len(v.OSDs), len(v.Pools))
	case *OSDUsages:
		if v == nil {
			return ""
		}
		return fmt.Sprintf("%d OSDs, %d stray", len(v.OSDs), len(v.Stray))
	case *Health:
		if v == nil {
			return ""
		}
		return fmt.Sprintf("%d checks", len(v.Checks))
	}
	if r := reflect.ValueOf(v); r.Kind() == reflect.Slice || r.Kind() == reflect.Map {
		return fmt.Sprintf("%d entries", r.Len())
	}
	return ""
}
