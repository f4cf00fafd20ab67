// Package schema checks the Kubernetes and Rook manifests, and the rendered
// PrometheusRule, against the types that Kubernetes and the Prometheus operator
// decode them into. A module of its own, so that the exporter's does not need
// these.
package schema

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

// cephClient is Rook's, as far as we use it: its own types are not to be had
// as a module.
type cephClient struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		Caps map[string]string `json:"caps"`
	} `json:"spec"`
}

// object is one document of a manifest.
type object struct {
	file  string
	kind  meta.TypeMeta
	typed any
}

func (o object) String() string { return fmt.Sprintf("%s: %s", o.file, o.kind.Kind) }

func decode(t *testing.T, file string) []object {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []object
	documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(data)))
	defer documents.Close()
	for {
		document := make([]byte, len(data)+1)
		n, err := documents.Read(document)
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		o := object{file: file}
		if err := strict.Unmarshal(document[:n], &o.kind); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		types := map[string]any{
			"apps/v1 Deployment":                      &apps.Deployment{},
			"apps/v1 DaemonSet":                       &apps.DaemonSet{},
			"apps/v1 StatefulSet":                     &apps.StatefulSet{},
			"v1 Service":                              &core.Service{},
			"v1 ConfigMap":                            &core.ConfigMap{},
			"networking.k8s.io/v1 NetworkPolicy":      &networking.NetworkPolicy{},
			"monitoring.coreos.com/v1 ServiceMonitor": &monitoring.ServiceMonitor{},
			"monitoring.coreos.com/v1 PodMonitor":     &monitoring.PodMonitor{},
			"monitoring.coreos.com/v1 PrometheusRule": &monitoring.PrometheusRule{},
			"ceph.rook.io/v1 CephClient":              &cephClient{},
		}
		o.typed = types[o.kind.APIVersion+" "+o.kind.Kind]
		if o.typed == nil {
			t.Fatalf("%s: no type for %s %s", file, o.kind.APIVersion, o.kind.Kind)
		}
		if err := strict.UnmarshalStrict(document[:n], o.typed); err != nil {
			t.Errorf("%s: %v", o, err)
		}
		out = append(out, o)
	}
}

func manifests(t *testing.T) []object {
	t.Helper()
	var files []string
	for _, pattern := range []string{"../kubernetes/*.yaml", "../rook/*.yaml", "../../alerts/prometheusrule.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: nothing found (%v)", pattern, err)
		}
		files = append(files, found...)
	}
	var out []object
	for _, f := range files {
		out = append(out, decode(t, f)...)
	}
	return out
}

func TestManifestsHaveNoFieldThatKubernetesDoesNotKnow(t *testing.T) {
	var got []string
	for _, o := range manifests(t) {
		got = append(got, fmt.Sprintf("%s/%s %s", filepath.Base(filepath.Dir(o.file)), filepath.Base(o.file), o.kind.Kind))
	}
	want := []string{
		"kubernetes/cluster.yaml Deployment",
		"kubernetes/cluster.yaml Service",
		"kubernetes/host.yaml DaemonSet",
		"kubernetes/monitors.yaml ServiceMonitor",
		"kubernetes/monitors.yaml PodMonitor",
		"kubernetes/rgw-sidecar.yaml Deployment",
		"kubernetes/rgw-sidecar.yaml PodMonitor",
		"rook/cluster.yaml CephClient",
		"rook/cluster.yaml Deployment",
		"rook/cluster.yaml Service",
		"rook/host.yaml DaemonSet",
		"rook/uploads.yaml StatefulSet",
		"rook/uploads.yaml Service",
		"rook/uploads.yaml NetworkPolicy",
		"rook/uploads.yaml ConfigMap",
		"alerts/prometheusrule.yaml PrometheusRule",
	}
	if !slices.Equal(got, want) {
		t.Errorf("documents:\n%s", strings.Join(got, "\n"))
	}
}

// workload is what Deployment, DaemonSet and StatefulSet have in common.
func workload(o object) (selector *meta.LabelSelector, pod core.PodTemplateSpec, claims []core.PersistentVolumeClaim) {
	switch w := o.typed.(type) {
	case *apps.Deployment:
		return w.Spec.Selector, w.Spec.Template, nil
	case *apps.DaemonSet:
		return w.Spec.Selector, w.Spec.Template, nil
	case *apps.StatefulSet:
		return w.Spec.Selector, w.Spec.Template, w.Spec.VolumeClaimTemplates
	}
	return nil, core.PodTemplateSpec{}, nil
}

func TestWorkloadsSelectTheirPodsAndMountWhatTheyHave(t *testing.T) {
	for _, o := range manifests(t) {
		selector, pod, claims := workload(o)
		if selector == nil {
			continue
		}
		s, err := meta.LabelSelectorAsSelector(selector)
		if err != nil || !s.Matches(labels.Set(pod.Labels)) {
			t.Errorf("%s: selector %v does not match its pods' labels %v (%v)", o, selector, pod.Labels, err)
		}
		volumes := map[string]bool{}
		for _, v := range pod.Spec.Volumes {
			volumes[v.Name] = true
		}
		for _, c := range claims {
			volumes[c.Name] = true
		}
		used := map[string]bool{}
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			for _, m := range c.VolumeMounts {
				if !volumes[m.Name] {
					t.Errorf("%s: container %s mounts %s, which the pod does not have", o, c.Name, m.Name)
				}
				used[m.Name] = true
			}
		}
		for v := range volumes {
			if !used[v] {
				t.Errorf("%s: volume %s is used by nobody", o, v)
			}
		}
	}
}

func TestExporterContainersAreConfined(t *testing.T) {
	n := 0
	for _, o := range manifests(t) {
		selector, pod, _ := workload(o)
		if selector == nil {
			continue
		}
		for _, c := range pod.Spec.Containers {
			if c.Name != "exporter" {
				continue
			}
			n++
			sc := c.SecurityContext
			nonRoot := sc.RunAsNonRoot
			if nonRoot == nil && pod.Spec.SecurityContext != nil {
				nonRoot = pod.Spec.SecurityContext.RunAsNonRoot
			}
			switch {
			case nonRoot == nil || !*nonRoot:
				t.Errorf("%s: may run as root", o)
			case sc.Privileged != nil || *sc.AllowPrivilegeEscalation || !*sc.ReadOnlyRootFilesystem:
				t.Errorf("%s: %+v", o, sc)
			case len(sc.Capabilities.Drop) != 1 || sc.Capabilities.Drop[0] != "ALL" || len(sc.Capabilities.Add) > 0:
				t.Errorf("%s: capabilities %+v", o, sc.Capabilities)
			case c.LivenessProbe == nil || c.Resources.Limits.Memory().IsZero():
				t.Errorf("%s: no liveness probe or memory limit", o)
			case *pod.Spec.AutomountServiceAccountToken:
				t.Errorf("%s: has a token of the API server", o)
			}
		}
	}
	if n != 6 {
		t.Errorf("%d exporter containers", n)
	}
}

// What the monitors select exists, with the port that they name.
func TestMonitorsFindPortsOfWhatTheySelect(t *testing.T) {
	all := manifests(t)
	for _, o := range all {
		switch m := o.typed.(type) {
		case *monitoring.ServiceMonitor:
			found := false
			for _, other := range all {
				if s, ok := other.typed.(*core.Service); ok && filepath.Dir(other.file) == filepath.Dir(o.file) {
					found = found || selects(t, m.Spec.Selector, s.Labels) && s.Spec.Ports[0].Name == m.Spec.Endpoints[0].Port
				}
			}
			if !found {
				t.Errorf("%s %s finds no service", o, m.Name)
			}
		case *monitoring.PodMonitor:
			found := false
			for _, other := range all {
				selector, pod, _ := workload(other)
				if selector == nil || !selects(t, m.Spec.Selector, pod.Labels) {
					continue
				}
				for _, c := range pod.Spec.Containers {
					for _, p := range c.Ports {
						found = found || p.Name == *m.Spec.PodMetricsEndpoints[0].Port
					}
				}
			}
			if !found {
				t.Errorf("%s %s finds no pod", o, m.Name)
			}
		}
	}
}

func selects(t *testing.T, selector meta.LabelSelector, on map[string]string) bool {
	t.Helper()
	s, err := meta.LabelSelectorAsSelector(&selector)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(labels.Set(on))
}
