package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	autoscalingvalidation "k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corev1conversion "k8s.io/kubernetes/pkg/apis/core/v1"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/pod-security-admission/api"
	security "k8s.io/pod-security-admission/policy"
	sigsyaml "sigs.k8s.io/yaml"
)

// checkKubernetes decodes objects strictly, fills in what the API server fills in,
// and validates them with the API server's own code. Pods have to keep to the
// Pod Security Standard "restricted".
func checkKubernetes(files []string) error {
	return eachObject(files, checkObject)
}

// eachObject calls f for each object of some files.
func eachObject(files []string, f func(text []byte) error) error {
	var faults []error
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err == nil {
			err = eachIn(b, f)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(faults...)
}

// eachIn calls f for each object of a text.
func eachIn(text []byte, f func(text []byte) error) error {
	var faults []error
	docs := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
	n := 0
	for buf := make([]byte, len(text)+1); ; {
		size, err := docs.Read(buf)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(buf[:size])) == 0 {
			continue
		}
		n++
		if err := f(buf[:size]); err != nil {
			faults = append(faults, fmt.Errorf("object %d: %w", n, err))
		}
	}
	if n == 0 {
		faults = append(faults, errors.New("there are no objects"))
	}
	return errors.Join(faults...)
}

var decoder = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

func checkObject(text []byte) error {
	if known, err := checkOperators(text); known {
		return err
	}
	versioned, _, err := decoder.Decode(text, nil, nil)
	if err != nil {
		return err
	}
	legacyscheme.Scheme.Default(versioned)
	if o, ok := versioned.(metav1.Object); ok && o.GetNamespace() == "" {
		o.SetNamespace("default") // as kubectl does
	}
	internal, err := legacyscheme.Scheme.UnsafeConvertToVersion(versioned, runtime.InternalGroupVersioner)
	if err != nil {
		return err
	}
	var faults field.ErrorList
	switch o := internal.(type) {
	case *apps.StatefulSet:
		faults = appsvalidation.ValidateStatefulSet(o, corevalidation.PodValidationOptions{})
		if err := restricted(&o.Spec.Template); err != nil {
			return err
		}
	case *apps.Deployment:
		faults = appsvalidation.ValidateDeployment(o, corevalidation.PodValidationOptions{})
		if err := restricted(&o.Spec.Template); err != nil {
			return err
		}
	case *autoscaling.HorizontalPodAutoscaler:
		faults = autoscalingvalidation.ValidateHorizontalPodAutoscaler(o, autoscalingvalidation.HorizontalPodAutoscalerSpecValidationOptions{MinReplicasLowerBound: 1})
	case *core.Service:
		if o.Spec.ClusterIP != "" { // as the API server completes it
			o.Spec.ClusterIPs = []string{o.Spec.ClusterIP}
		}
		faults = corevalidation.ValidateServiceCreate(o)
	case *core.ServiceAccount:
		faults = corevalidation.ValidateServiceAccount(o)
	case *policy.PodDisruptionBudget:
		faults = policyvalidation.ValidatePodDisruptionBudget(o, policyvalidation.PodDisruptionBudgetValidationOptions{})
	case *networking.Ingress:
		faults = networkingvalidation.ValidateIngressCreate(o)
	case *networking.NetworkPolicy:
		faults = networkingvalidation.ValidateNetworkPolicy(o, networkingvalidation.NetworkPolicyValidationOptions{})
	default:
		return fmt.Errorf("nothing here checks a %T", o)
	}
	return faults.ToAggregate()
}

// checkOperators decodes objects of the Prometheus Operator strictly, by its own types. The API
// server knows them only where that is installed.
func checkOperators(text []byte) (known bool, err error) {
	var meta metav1.TypeMeta
	if err := sigsyaml.Unmarshal(text, &meta); err != nil {
		return true, err
	}
	if meta.APIVersion != monitoring.SchemeGroupVersion.String() {
		return false, nil
	}
	switch meta.Kind {
	case monitoring.ServiceMonitorsKind:
		var o monitoring.ServiceMonitor
		if err := sigsyaml.UnmarshalStrict(text, &o); err != nil {
			return true, err
		}
		if _, err := metav1.LabelSelectorAsSelector(&o.Spec.Selector); err != nil {
			return true, err
		}
		if len(o.Spec.Endpoints) == 0 {
			return true, errors.New("it has no endpoints")
		}
	case monitoring.PrometheusRuleKind:
		var o monitoring.PrometheusRule
		if err := sigsyaml.UnmarshalStrict(text, &o); err != nil {
			return true, err
		}
		if len(o.Spec.Groups) == 0 {
			return true, errors.New("it has no groups")
		}
	default:
		return true, fmt.Errorf("nothing here checks a %s", meta.Kind)
	}
	return true, nil
}

// restricted asks the admission of Pod Security.
func restricted(template *core.PodTemplateSpec) error {
	var pod corev1.PodTemplateSpec
	if err := corev1conversion.Convert_core_PodTemplateSpec_To_v1_PodTemplateSpec(template, &pod, nil); err != nil {
		return err
	}
	e, err := security.NewEvaluator(security.DefaultChecks(), nil)
	if err != nil {
		return err
	}
	level := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	if r := security.AggregateCheckResults(e.EvaluatePod(level, &pod.ObjectMeta, &pod.Spec)); !r.Allowed {
		return fmt.Errorf("the pods are not \"restricted\": %s", r.ForbiddenDetail())
	}
	return nil
}
