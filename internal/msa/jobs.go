package msa

import (
	"regexp"
	"sort"
	"strings"
)

// A Job is one job that runs on a disk group.
type Job struct {
	Group    string
	Name     string   // JobScrub, JobReconstruct, ...
	Progress *float64 // 0 to 1
}

var jobPattern = regexp.MustCompile(`^[A-Z0-9][A-Z0-9 _-]{0,31}$`)

// jobName bounds what becomes a label.
func jobName(text string) string {
	text = strings.ToUpper(text)
	if text == "" || text == "NONE" || jobPattern.MatchString(text) {
		return strings.TrimPrefix(text, "NONE")
	}
	return "OTHER"
}

// Jobs lists the running jobs, each once. A job of a group is also shown by
// each of its disks; these count only where the group itself does not say so,
// and then as one job, as far as the slowest disk.
func (p *Parts) Jobs() []Job {
	type key struct{ group, name string }
	jobs := map[key]Job{}
	for _, g := range p.Groups {
		if g.Job != "" {
			jobs[key{g.ID, g.Job}] = Job{g.ID, g.Job, g.Progress}
		}
	}
	byDisk := map[key]Job{}
	for _, d := range p.Disks {
		if d.Job == "" || d.Group == "" {
			continue
		}
		k := key{d.Group, d.Job}
		j, known := byDisk[k]
		if !known {
			j = Job{d.Group, d.Job, d.Progress}
		} else if d.Progress != nil && (j.Progress == nil || *d.Progress < *j.Progress) {
			j.Progress = d.Progress
		}
		byDisk[k] = j
	}
	for k, j := range byDisk {
		if known, ok := jobs[k]; !ok || known.Progress == nil {
			jobs[k] = j
		}
	}
	list := make([]Job, 0, len(jobs))
	for _, j := range jobs {
		list = append(list, j)
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].Group != list[j].Group {
			return list[i].Group < list[j].Group
		}
		return list[i].Name < list[j].Name
	})
	return list
}
