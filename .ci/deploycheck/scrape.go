package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// metricsPort is the name of the port that metrics are fetched from.
const metricsPort = "metrics"

// workload is a kind of pods.
type workload struct {
	name string
	pods corev1.PodTemplateSpec
}

// checkScrape looks whether the configuration finds all pods that have metrics: each kind by a
// service of its own without an address, so that its name has the addresses of all pods, and
// whether a network policy lets the monitoring in.
func checkScrape(config string, files []string) error {
	names, err := scraped(config)
	if err != nil {
		return err
	}
	var kinds []workload
	var services []*corev1.Service
	var policies []*networkingv1.NetworkPolicy
	err = eachObject(files, func(text []byte) error {
		o, _, err := decoder.Decode(text, nil, nil)
		switch o := o.(type) {
		case *appsv1.StatefulSet:
			kinds = append(kinds, workload{o.Name, o.Spec.Template})
		case *appsv1.Deployment:
			kinds = append(kinds, workload{o.Name, o.Spec.Template})
		case *corev1.Service:
			services = append(services, o)
		case *networkingv1.NetworkPolicy:
			policies = append(policies, o)
		}
		return err
	})
	faults := []error{err}
	for _, kind := range kinds {
		port := portOf(&kind.pods.Spec)
		if port == 0 {
			continue
		}
		if !slices.ContainsFunc(services, func(s *corev1.Service) bool {
			return s.Spec.ClusterIP == corev1.ClusterIPNone && selects(s.Spec.Selector, &kind.pods) && names[fmt.Sprintf("%s.default.svc:%d", s.Name, port)]
		}) {
			faults = append(faults, fmt.Errorf("%s asks for no name of a service without an address that has the pods of %s, at port %d", config, kind.name, port))
		}
		if !slices.ContainsFunc(policies, func(p *networkingv1.NetworkPolicy) bool { return letsIn(p, &kind.pods) }) {
			faults = append(faults, fmt.Errorf("no network policy lets the monitoring to the metrics of %s", kind.name))
		}
	}
	if len(kinds) == 0 {
		faults = append(faults, errors.New("there are no pods"))
	}
	return errors.Join(faults...)
}

// scraped are the names that a configuration of Prometheus asks, with their ports.
func scraped(config string) (map[string]bool, error) {
	b, err := os.ReadFile(config)
	if err != nil {
		return nil, err
	}
	var c struct {
		Jobs []struct {
			DNS []struct {
				Names []string `json:"names"`
				Port  int      `json:"port"`
			} `json:"dns_sd_configs"`
		} `json:"scrape_configs"`
	}
	if err := yaml.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("read %s: %w", config, err)
	}
	all := map[string]bool{}
	for _, job := range c.Jobs {
		for _, d := range job.DNS {
			for _, name := range d.Names {
				all[fmt.Sprintf("%s:%d", strings.TrimSuffix(name, "."), d.Port)] = true
			}
		}
	}
	return all, nil
}

// portOf is the port of the metrics; zero: there is none.
func portOf(pod *corev1.PodSpec) int32 {
	for _, c := range pod.Containers {
		for _, p := range c.Ports {
			if p.Name == metricsPort {
				return p.ContainerPort
			}
		}
	}
	return 0
}

func selects(selector map[string]string, pods *corev1.PodTemplateSpec) bool {
	return len(selector) > 0 && labels.SelectorFromSet(selector).Matches(labels.Set(pods.Labels))
}

// letsIn reports whether a policy is about the pods and lets somebody from a certain namespace
// to their metrics.
func letsIn(p *networkingv1.NetworkPolicy, pods *corev1.PodTemplateSpec) bool {
	s, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
	if err != nil || !s.Matches(labels.Set(pods.Labels)) {
		return false
	}
	for _, rule := range p.Spec.Ingress {
		to := slices.ContainsFunc(rule.Ports, func(q networkingv1.NetworkPolicyPort) bool { return q.Port != nil && q.Port.StrVal == metricsPort })
		from := slices.ContainsFunc(rule.From, func(q networkingv1.NetworkPolicyPeer) bool { return q.NamespaceSelector != nil })
		if to && from {
			return true
		}
	}
	return false
}
