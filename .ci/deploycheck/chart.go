package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

// The plain files are what the chart gives: these with its own values, those of workers/ with
// the file workers.yaml of its folder ci.
var plain = map[string]string{
	"statefulset.yaml": "", "services.yaml": "", "policies.yaml": "",
	"workers/deployment.yaml": "workers.yaml", "workers/autoscaler.yaml": "workers.yaml",
}

const generated = "# Generated from deploy/chart: change that, then run deploycheck chart -w.\n"

// checkChart lints a chart as helm lint does, with its own values and with each file of its
// folder ci, checks all objects that it gives then, and compares the plain files with them.
// With more files it checks what the chart gives with the values of those, and nothing else.
func checkChart(args []string) error {
	write := len(args) > 0 && args[0] == "-w"
	if write {
		args = args[1:]
	}
	if len(args) < 2 {
		return errors.New("want a folder of a chart, and of the plain files")
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // of Helm, which tells of each link
	dir, to, given := args[0], args[1], args[2:]
	if len(given) > 0 {
		var faults []error
		for _, name := range given {
			_, err := rendered(dir, name)
			faults = append(faults, err)
		}
		return errors.Join(faults...)
	}
	sets, err := filepath.Glob(filepath.Join(dir, "ci", "*.yaml"))
	if err != nil || len(sets) < 2 {
		return fmt.Errorf("%s/ci has %d files of values: %w", dir, len(sets), err)
	}
	var faults []error
	given = append([]string{""}, sets...)
	all := map[string]map[string]string{}
	for _, name := range given {
		files, err := rendered(dir, name)
		faults = append(faults, err)
		all[path.Base(filepath.ToSlash(name))] = files
	}
	all[""] = all["."]
	if err := errors.Join(faults...); err != nil {
		return err
	}
	for name, values := range plain {
		text, ok := all[values][name]
		if !ok {
			return fmt.Errorf("the chart gives no %s with the values of %q", name, values)
		}
		want, at := []byte(generated+text), filepath.Join(to, name)
		if write {
			faults = append(faults, os.WriteFile(at, want, 0o644))
			continue
		}
		if have, err := os.ReadFile(at); err != nil || !bytes.Equal(have, want) {
			faults = append(faults, fmt.Errorf("%s is not what the chart gives: deploycheck chart -w %s %s", at, dir, to))
		}
	}
	return errors.Join(faults...)
}

// rendered lints the chart with the values of a file, and gives all texts of its objects by the
// names of their templates. An empty name: with the chart's own values.
func rendered(dir, name string) (map[string]string, error) {
	fault := func(err error) error { return fmt.Errorf("%s with the values of %q: %w", dir, name, err) }
	values := map[string]any{}
	if name != "" {
		b, err := os.ReadFile(name)
		if err == nil {
			err = yaml.UnmarshalStrict(b, &values)
		}
		if err != nil {
			return nil, fault(err)
		}
	}
	var faults []error
	for _, m := range lint.RunAll(dir, values, "default").Messages { // as helm lint --strict
		if m.Severity >= support.WarningSev {
			faults = append(faults, fault(m))
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	chart, err := loader.Load(dir)
	if err != nil {
		return nil, fault(err)
	}
	with, err := util.ToRenderValues(chart, values, common.ReleaseOptions{Name: "troupe", Namespace: "default", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return nil, fault(err)
	}
	texts, err := engine.Render(chart, with)
	if err != nil {
		return nil, fault(err)
	}
	files := map[string]string{}
	for _, at := range slices.Sorted(maps.Keys(texts)) {
		text := texts[at]
		if strings.TrimSpace(text) == "" || !strings.HasSuffix(at, ".yaml") {
			continue
		}
		name := strings.TrimPrefix(at, chart.Name()+"/templates/")
		text = strings.TrimLeft(text, "\n")
		if err := eachIn([]byte(text), checkObject); err != nil {
			faults = append(faults, fault(fmt.Errorf("%s: %w", name, err)))
		}
		files[name] = strings.TrimRight(text, "\n") + "\n"
	}
	if len(files) == 0 {
		faults = append(faults, fault(errors.New("there are no objects")))
	}
	return files, errors.Join(faults...)
}
