package cluster

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

func TestProgramsRunAsSoonAsTheyAreWritten(t *testing.T) {
	dir := t.TempDir()
	script := append([]byte("#!/bin/sh\nexit 0\n#"), make([]byte, 1<<20)...)
	var all sync.WaitGroup
	for who := range 4 {
		all.Go(func() {
			for n := range 25 {
				path := filepath.Join(dir, fmt.Sprint(who, n))
				if err := writeProgram(path, script); err != nil {
					t.Error(err)
				}
				if err := exec.Command(path).Run(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
