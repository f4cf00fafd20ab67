package rados

import (
	"context"
	"encoding/json"
	"fmt"
)

// mgrState asks the monitors who the active mgr is. Its error is of the kind
// ErrNoActiveMgr, or of the kind ErrMgrHung where there is one (this is only
// asked about a mgr that did not answer), or tells why the monitors could not
// say.
func (c *Client) mgrState(ctx context.Context) error {
	const command = `{"prefix":"mgr stat","format":"json"}`
	data, err := c.askMon(ctx, []byte(command))
	if err != nil {
		return err
	}
	return judgeMgrStat(data)
}

// judgeMgrStat reads the answer of `mgr stat`.
func judgeMgrStat(data []byte) error {
	var stat struct {
		Available  *bool  `json:"available"`
		ActiveName string `json:"active_name"`
	}
	if err := json.Unmarshal(data, &stat); err != nil {
		return fmt.Errorf("decode mgr stat: %w", err)
	}
	switch {
	case stat.Available == nil:
		return fmt.Errorf("decode mgr stat: no field available")
	case !*stat.Available:
		return &Error{Kind: ErrNoActiveMgr, Cure: cureNoActiveMgr}
	}
	return &Error{Kind: ErrMgrHung, Cause: fmt.Errorf("mgr.%s is active", status(stat.ActiveName)), Cure: cureMgrHung}
}
