package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// table converts objects of a built-in type to what kubectl prints.
type table struct {
	// columns are the names after Name and before Age. Those in lower case are for -o wide.
	columns []string
	// cells returns the values of the columns.
	cells func(runtime.Object) []any
}

// tableOf returns the columns of a type, which are those of a real API server for the types that people look at.
func tableOf(r *resource) table {
	switch r.plural {
	case "pods":
		return table{[]string{"Ready", "Status", "Restarts", "ip", "node"}, podCells}
	case "services":
		return table{[]string{"Type", "Cluster-IP", "External-IP", "Port(s)"}, serviceCells}
	case "deployments":
		return table{[]string{"Ready", "Up-to-date", "Available"}, deploymentCells}
	case "replicasets":
		return table{[]string{"Desired", "Current", "Ready"}, replicaSetCells}
	case "statefulsets":
		return table{[]string{"Ready"}, statefulSetCells}
	case "daemonsets":
		return table{[]string{"Desired", "Current", "Ready", "Up-to-date", "Available"}, daemonSetCells}
	case "jobs":
		return table{[]string{"Status", "Completions"}, jobCells}
	case "nodes":
		return table{[]string{"Status", "Version"}, nodeCells}
	case "namespaces":
		return table{[]string{"Status"}, func(obj runtime.Object) []any {
			return []any{string(obj.(*corev1.Namespace).Status.Phase)}
		}}
	case "configmaps":
		return table{[]string{"Data"}, func(obj runtime.Object) []any {
			configMap := obj.(*corev1.ConfigMap)
			return []any{int64(len(configMap.Data) + len(configMap.BinaryData))}
		}}
	case "secrets":
		return table{[]string{"Type", "Data"}, func(obj runtime.Object) []any {
			secret := obj.(*corev1.Secret)
			return []any{string(secret.Type), int64(len(secret.Data))}
		}}
	case "endpointslices":
		return table{[]string{"AddressType", "Ports", "Endpoints"}, endpointSliceCells}
	case "leases":
		return table{[]string{"Holder"}, func(obj runtime.Object) []any {
			return []any{valueOr(obj.(*coordinationv1.Lease).Spec.HolderIdentity, "")}
		}}
	default:
		return table{nil, func(runtime.Object) []any { return nil }}
	}
}

// ConvertToTable implements rest.TableConvertor.
func (t table) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	result := &metav1.Table{}
	if list, err := meta.ListAccessor(object); err == nil {
		result.ResourceVersion = list.GetResourceVersion()
		result.Continue = list.GetContinue()
		result.RemainingItemCount = list.GetRemainingItemCount()
	}
	if choice, ok := options.(*metav1.TableOptions); !ok || !choice.NoHeaders {
		result.ColumnDefinitions = t.definitions()
	}
	add := func(obj runtime.Object) error {
		if _, ok := obj.(*metav1.Status); ok {
			info, _ := request.RequestInfoFrom(ctx)
			return fmt.Errorf("a Status of %s has no table", info.Resource)
		}
		name, created := accessor(obj).GetName(), accessor(obj).GetCreationTimestamp()
		cells := append(append([]any{name}, t.cells(obj)...), age(created.Time))
		result.Rows = append(result.Rows, metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Object: obj}})
		return nil
	}
	if meta.IsListType(object) {
		return result, meta.EachListItem(object, add)
	}
	return result, add(object)
}

func (t table) definitions() []metav1.TableColumnDefinition {
	definitions := []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Format: "name"}}
	for _, name := range t.columns {
		definition := metav1.TableColumnDefinition{Name: name, Type: "string"}
		if strings.ToLower(name) == name {
			definition.Name, definition.Priority = strings.ToUpper(name), 1
		}
		definitions = append(definitions, definition)
	}
	return append(definitions, metav1.TableColumnDefinition{Name: "Age", Type: "string"})
}

func age(since time.Time) string {
	if since.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(since))
}

func podCells(obj runtime.Object) []any {
	pod := obj.(*corev1.Pod)
	total, ready, restarts := len(pod.Spec.Containers), 0, int32(0)
	sidecars := map[string]bool{}
	for _, container := range pod.Spec.InitContainers {
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars[container.Name] = true
			total++
		}
	}
	count := func(status corev1.ContainerStatus) {
		restarts += status.RestartCount
		if status.Ready {
			ready++
		}
	}
	for _, status := range pod.Status.InitContainerStatuses {
		if sidecars[status.Name] {
			count(status)
		}
	}
	for _, status := range pod.Status.ContainerStatuses {
		count(status)
	}
	address, node := pod.Status.PodIP, pod.Spec.NodeName
	return []any{fmt.Sprintf("%d/%d", ready, total), podStatus(pod, sidecars), int64(restarts), or(address, "<none>"), or(node, "<none>")}
}

// podStatus returns the reason of the first container that does not run as it should, or the phase.
func podStatus(pod *corev1.Pod, sidecars map[string]bool) string {
	if pod.DeletionTimestamp != nil {
		return "Terminating"
	}
	for index, status := range pod.Status.InitContainerStatuses {
		started := status.Started != nil && *status.Started
		switch reason := containerReason(status); {
		case sidecars[status.Name] && started, status.State.Terminated != nil && status.State.Terminated.ExitCode == 0:
			continue
		case reason != "" && reason != "PodInitializing":
			return "Init:" + reason
		default:
			return fmt.Sprintf("Init:%d/%d", index, len(pod.Spec.InitContainers))
		}
	}
	for _, status := range pod.Status.ContainerStatuses {
		if reason := containerReason(status); reason != "" {
			return reason
		}
	}
	return or(pod.Status.Reason, string(pod.Status.Phase))
}

func containerReason(status corev1.ContainerStatus) string {
	switch {
	case status.State.Waiting != nil:
		return status.State.Waiting.Reason
	case status.State.Terminated != nil:
		return or(status.State.Terminated.Reason, fmt.Sprintf("ExitCode:%d", status.State.Terminated.ExitCode))
	default:
		return ""
	}
}

func serviceCells(obj runtime.Object) []any {
	service := obj.(*corev1.Service)
	var external, ports []string
	for _, ingress := range service.Status.LoadBalancer.Ingress {
		external = append(external, or(ingress.IP, ingress.Hostname))
	}
	external = append(external, service.Spec.ExternalIPs...)
	switch {
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		external = append(external, service.Spec.ExternalName)
	case service.Spec.Type == corev1.ServiceTypeLoadBalancer && len(external) == 0:
		external = []string{"<pending>"}
	}
	for _, port := range service.Spec.Ports {
		text := fmt.Sprintf("%d", port.Port)
		if port.NodePort > 0 {
			text += fmt.Sprintf(":%d", port.NodePort)
		}
		ports = append(ports, text+"/"+string(port.Protocol))
	}
	return []any{string(service.Spec.Type), or(service.Spec.ClusterIP, "<none>"), joined(external), joined(ports)}
}

func deploymentCells(obj runtime.Object) []any {
	deployment := obj.(*appsv1.Deployment)
	status := deployment.Status
	ready := fmt.Sprintf("%d/%d", status.ReadyReplicas, valueOr(deployment.Spec.Replicas, 1))
	return []any{ready, int64(status.UpdatedReplicas), int64(status.AvailableReplicas)}
}

func replicaSetCells(obj runtime.Object) []any {
	replicaSet := obj.(*appsv1.ReplicaSet)
	return []any{int64(valueOr(replicaSet.Spec.Replicas, 1)), int64(replicaSet.Status.Replicas), int64(replicaSet.Status.ReadyReplicas)}
}

func statefulSetCells(obj runtime.Object) []any {
	statefulSet := obj.(*appsv1.StatefulSet)
	return []any{fmt.Sprintf("%d/%d", statefulSet.Status.ReadyReplicas, valueOr(statefulSet.Spec.Replicas, 1))}
}

func daemonSetCells(obj runtime.Object) []any {
	status := obj.(*appsv1.DaemonSet).Status
	var cells []any
	for _, number := range []int32{
		status.DesiredNumberScheduled, status.CurrentNumberScheduled, status.NumberReady, status.UpdatedNumberScheduled, status.NumberAvailable,
	} {
		cells = append(cells, int64(number))
	}
	return cells
}

func jobCells(obj runtime.Object) []any {
	job := obj.(*batchv1.Job)
	state := "Running"
	for _, condition := range job.Status.Conditions {
		if condition.Status == corev1.ConditionTrue && (condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) {
			state = string(condition.Type)
		}
	}
	return []any{state, fmt.Sprintf("%d/%d", job.Status.Succeeded, valueOr(job.Spec.Completions, 1))}
}

func nodeCells(obj runtime.Object) []any {
	node := obj.(*corev1.Node)
	state := "NotReady"
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			state = "Ready"
		}
	}
	if node.Spec.Unschedulable {
		state += ",SchedulingDisabled"
	}
	return []any{state, node.Status.NodeInfo.KubeletVersion}
}

func endpointSliceCells(obj runtime.Object) []any {
	slice := obj.(*discoveryv1.EndpointSlice)
	var ports, addresses []string
	for _, port := range slice.Ports {
		if port.Port != nil {
			ports = append(ports, fmt.Sprintf("%d", *port.Port))
		}
	}
	for _, endpoint := range slice.Endpoints {
		addresses = append(addresses, endpoint.Addresses...)
	}
	return []any{string(slice.AddressType), joined(ports), joined(addresses)}
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

func valueOr[T any](value *T, otherwise T) T {
	if value == nil {
		return otherwise
	}
	return *value
}

func joined(values []string) string {
	return or(strings.Join(values, ","), "<none>")
}
