// Answers requests of the tests, one JSON object a line, with what Kubernetes' libraries do.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	openshift "github.com/openshift/api/apps/v1"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

type request struct {
	Original json.RawMessage `json:"original"`
	Patch    json.RawMessage `json:"patch"`
	Pod      json.RawMessage `json:"pod"`
	Quantity *string         `json:"quantity"`
	Types    bool            `json:"types"`
}

type answer struct {
	Result any    `json:"result"`
	Error  string `json:"error"`
}

func main() {
	in := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			panic(err)
		}
		result, err := respond(r)
		a := answer{Result: result}
		if err != nil {
			a = answer{Error: err.Error()}
		}
		if err := out.Encode(a); err != nil {
			panic(err)
		}
	}
}

func respond(r request) (any, error) {
	switch {
	case r.Types:
		return typeTable(), nil
	case r.Quantity != nil:
		q, err := resource.ParseQuantity(*r.Quantity)
		return q.String(), err
	case r.Pod != nil:
		var pod core.Pod
		if err := json.Unmarshal(r.Pod, &pod); err != nil {
			return nil, err
		}
		text, err := json.Marshal(pod)
		return string(text), err
	default:
		patched, err := strategicpatch.StrategicMergePatch(r.Original, r.Patch, core.Pod{})
		return json.RawMessage(patched), err
	}
}

// typeTable lists the fields of the types of workloads: by struct, "GoName jsonName type omitted? strategy key".
func typeTable() map[string][]string {
	table := map[string][]string{}
	for _, object := range []any{
		core.Pod{}, core.ReplicationController{}, apps.Deployment{}, apps.DaemonSet{}, apps.ReplicaSet{},
		apps.StatefulSet{}, batch.Job{}, batch.CronJob{}, openshift.DeploymentConfig{},
		core.Service{}, core.ServiceAccount{}, autoscaling.HorizontalPodAutoscaler{}, policy.PodDisruptionBudget{},
	} {
		add(reflect.TypeOf(object), table)
	}
	return table
}

func add(t reflect.Type, table map[string][]string) {
	name := structName(t)
	if _, ok := table[name]; ok {
		return
	}
	table[name] = nil
	table[name] = fields(t, table)
}

func structName(t reflect.Type) string {
	if strings.Contains(t.PkgPath(), "openshift") && (t.Name() == "DeploymentStrategy" || t.Name() == "DeploymentCondition") {
		return "OpenShift" + t.Name()
	}
	return t.Name()
}

func fields(t reflect.Type, table map[string][]string) []string {
	var lines []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			lines = append(lines, fields(f.Type, table)...)
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %v %s %s", f.Name, name, typeName(f.Type, table),
			strings.Contains(options, "omit"), f.Tag.Get("patchStrategy"), f.Tag.Get("patchMergeKey")))
	}
	return lines
}

func typeName(t reflect.Type, table map[string][]string) string {
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + typeName(t.Elem(), table)
	case reflect.Slice:
		return "[]" + typeName(t.Elem(), table)
	case reflect.Map:
		return "map[string]" + typeName(t.Elem(), table)
	case reflect.Struct:
		switch t.Name() {
		case "Quantity", "IntOrString", "Time":
			return t.Name()
		}
		add(t, table)
		return structName(t)
	}
	return t.Kind().String()
}
