package main

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// resource is a built-in type that is stored in etcd.
type resource struct {
	schema.GroupVersion
	plural, singular, kind string
	shortNames             []string
	all                    bool
	namespaced             bool
	// status reports whether there is a status subresource.
	status bool
	object runtime.Object
	// selectable returns the fields of field selectors in addition to metadata.name and metadata.namespace.
	selectable func(runtime.Object) fields.Set
}

func (r *resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.plural}
}

// hasGeneration reports whether metadata.generation counts the changes of the specification.
func (r *resource) hasGeneration() bool {
	switch r.Group {
	case "apps", "batch", "policy", "networking.k8s.io", "discovery.k8s.io", "admissionregistration.k8s.io":
		return true
	default:
		return r.plural == "pods" || r.plural == "replicationcontrollers"
	}
}

// resources are all built-in types, each in its only served version.
func resources() []*resource {
	return []*resource{
		{GroupVersion: corev1.SchemeGroupVersion, plural: "namespaces", singular: "namespace", kind: "Namespace", shortNames: []string{"ns"}, status: true, object: &corev1.Namespace{}, selectable: namespaceFields},
		{GroupVersion: corev1.SchemeGroupVersion, plural: "pods", singular: "pod", kind: "Pod", shortNames: []string{"po"}, all: true, namespaced: true, status: true, object: &corev1.Pod{}, selectable: podFields},
		{GroupVersion: corev1.SchemeGroupVersion, plural: "services", singular: "service", kind: "Service", shortNames: []string{"svc"}, all: true, namespaced: true, status: true, object: &corev1.Service{}, selectable: serviceFields},
		{GroupVersion: corev1.SchemeGroupVersion, plural: "endpoints", singular: "endpoints", kind: "Endpoints", shortNames: []string{"ep"}, namespaced: true, object: &corev1.Endpoints{}},
		{GroupVersion: corev1.SchemeGroupVersion, plural: "configmaps", singular: "configmap", kind: "ConfigMap", shortNames: []string{"cm"}, namespaced: true, object: &corev1.ConfigMap{}},
		{GroupVersion: corev1.SchemeGroupVersion, plural: "secrets", singular: "secret", kind: "Secret", namespaced: true, object: &corev1.Secret{}, selectable: secretFields},
		{GroupVersion: corev1.SchemeGroupVersion, plural: "serviceaccounts", singular: "serviceaccount", kind: "ServiceAccount", shortNames: []string{"sa"}, namespaced: true, object: &corev1.ServiceAccount{}},
		{GroupVersion: corev1.SchemeGroupVersion, plural: "nodes", singular: "node", kind: "Node", shortNames: []string{"no"}, status: true, object: &corev1.Node{}, selectable: nodeFields},
		{GroupVersion: corev1.SchemeGroupVersion, plural: "events", singular: "event", kind: "Event", shortNames: []string{"ev"}, namespaced: true, object: &corev1.Event{}, selectable: eventFields},
		{GroupVersion: corev1.SchemeGroupVersion, plural: "limitranges", singular: "limitrange", kind: "LimitRange", shortNames: []string{"limits"}, namespaced: true, object: &corev1.LimitRange{}},
		{GroupVersion: corev1.SchemeGroupVersion, plural: "resourcequotas", singular: "resourcequota", kind: "ResourceQuota", shortNames: []string{"quota"}, namespaced: true, status: true, object: &corev1.ResourceQuota{}},
		{GroupVersion: corev1.SchemeGroupVersion, plural: "persistentvolumes", singular: "persistentvolume", kind: "PersistentVolume", shortNames: []string{"pv"}, status: true, object: &corev1.PersistentVolume{}},
		{GroupVersion: corev1.SchemeGroupVersion, plural: "persistentvolumeclaims", singular: "persistentvolumeclaim", kind: "PersistentVolumeClaim", shortNames: []string{"pvc"}, namespaced: true, status: true, object: &corev1.PersistentVolumeClaim{}},
		{GroupVersion: corev1.SchemeGroupVersion, plural: "replicationcontrollers", singular: "replicationcontroller", kind: "ReplicationController", shortNames: []string{"rc"}, all: true, namespaced: true, status: true, object: &corev1.ReplicationController{}},
		{GroupVersion: corev1.SchemeGroupVersion, plural: "podtemplates", singular: "podtemplate", kind: "PodTemplate", namespaced: true, object: &corev1.PodTemplate{}},

		{GroupVersion: discoveryv1.SchemeGroupVersion, plural: "endpointslices", singular: "endpointslice", kind: "EndpointSlice", namespaced: true, object: &discoveryv1.EndpointSlice{}},

		{GroupVersion: appsv1.SchemeGroupVersion, plural: "deployments", singular: "deployment", kind: "Deployment", shortNames: []string{"deploy"}, all: true, namespaced: true, status: true, object: &appsv1.Deployment{}},
		{GroupVersion: appsv1.SchemeGroupVersion, plural: "replicasets", singular: "replicaset", kind: "ReplicaSet", shortNames: []string{"rs"}, all: true, namespaced: true, status: true, object: &appsv1.ReplicaSet{}},
		{GroupVersion: appsv1.SchemeGroupVersion, plural: "statefulsets", singular: "statefulset", kind: "StatefulSet", shortNames: []string{"sts"}, all: true, namespaced: true, status: true, object: &appsv1.StatefulSet{}},
		{GroupVersion: appsv1.SchemeGroupVersion, plural: "daemonsets", singular: "daemonset", kind: "DaemonSet", shortNames: []string{"ds"}, all: true, namespaced: true, status: true, object: &appsv1.DaemonSet{}},
		{GroupVersion: appsv1.SchemeGroupVersion, plural: "controllerrevisions", singular: "controllerrevision", kind: "ControllerRevision", namespaced: true, object: &appsv1.ControllerRevision{}},

		{GroupVersion: batchv1.SchemeGroupVersion, plural: "jobs", singular: "job", kind: "Job", all: true, namespaced: true, status: true, object: &batchv1.Job{}},
		{GroupVersion: batchv1.SchemeGroupVersion, plural: "cronjobs", singular: "cronjob", kind: "CronJob", shortNames: []string{"cj"}, all: true, namespaced: true, status: true, object: &batchv1.CronJob{}},

		{GroupVersion: autoscalingv2.SchemeGroupVersion, plural: "horizontalpodautoscalers", singular: "horizontalpodautoscaler", kind: "HorizontalPodAutoscaler", shortNames: []string{"hpa"}, all: true, namespaced: true, status: true, object: &autoscalingv2.HorizontalPodAutoscaler{}},
		{GroupVersion: policyv1.SchemeGroupVersion, plural: "poddisruptionbudgets", singular: "poddisruptionbudget", kind: "PodDisruptionBudget", shortNames: []string{"pdb"}, namespaced: true, status: true, object: &policyv1.PodDisruptionBudget{}},

		{GroupVersion: networkingv1.SchemeGroupVersion, plural: "ingresses", singular: "ingress", kind: "Ingress", shortNames: []string{"ing"}, namespaced: true, status: true, object: &networkingv1.Ingress{}},
		{GroupVersion: networkingv1.SchemeGroupVersion, plural: "ingressclasses", singular: "ingressclass", kind: "IngressClass", object: &networkingv1.IngressClass{}},
		{GroupVersion: networkingv1.SchemeGroupVersion, plural: "networkpolicies", singular: "networkpolicy", kind: "NetworkPolicy", shortNames: []string{"netpol"}, namespaced: true, object: &networkingv1.NetworkPolicy{}},

		{GroupVersion: coordinationv1.SchemeGroupVersion, plural: "leases", singular: "lease", kind: "Lease", namespaced: true, object: &coordinationv1.Lease{}},

		{GroupVersion: rbacv1.SchemeGroupVersion, plural: "roles", singular: "role", kind: "Role", namespaced: true, object: &rbacv1.Role{}},
		{GroupVersion: rbacv1.SchemeGroupVersion, plural: "rolebindings", singular: "rolebinding", kind: "RoleBinding", namespaced: true, object: &rbacv1.RoleBinding{}},
		{GroupVersion: rbacv1.SchemeGroupVersion, plural: "clusterroles", singular: "clusterrole", kind: "ClusterRole", object: &rbacv1.ClusterRole{}},
		{GroupVersion: rbacv1.SchemeGroupVersion, plural: "clusterrolebindings", singular: "clusterrolebinding", kind: "ClusterRoleBinding", object: &rbacv1.ClusterRoleBinding{}},

		{GroupVersion: admissionregistrationv1.SchemeGroupVersion, plural: "mutatingwebhookconfigurations", singular: "mutatingwebhookconfiguration", kind: "MutatingWebhookConfiguration", object: &admissionregistrationv1.MutatingWebhookConfiguration{}},
		{GroupVersion: admissionregistrationv1.SchemeGroupVersion, plural: "validatingwebhookconfigurations", singular: "validatingwebhookconfiguration", kind: "ValidatingWebhookConfiguration", object: &admissionregistrationv1.ValidatingWebhookConfiguration{}},
		{GroupVersion: admissionregistrationv1.SchemeGroupVersion, plural: "validatingadmissionpolicies", singular: "validatingadmissionpolicy", kind: "ValidatingAdmissionPolicy", status: true, object: &admissionregistrationv1.ValidatingAdmissionPolicy{}},
		{GroupVersion: admissionregistrationv1.SchemeGroupVersion, plural: "validatingadmissionpolicybindings", singular: "validatingadmissionpolicybinding", kind: "ValidatingAdmissionPolicyBinding", object: &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}},

		{GroupVersion: admissionregistrationv1.SchemeGroupVersion, plural: "mutatingadmissionpolicies", singular: "mutatingadmissionpolicy", kind: "MutatingAdmissionPolicy", object: &admissionregistrationv1.MutatingAdmissionPolicy{}},
		{GroupVersion: admissionregistrationv1.SchemeGroupVersion, plural: "mutatingadmissionpolicybindings", singular: "mutatingadmissionpolicybinding", kind: "MutatingAdmissionPolicyBinding", object: &admissionregistrationv1.MutatingAdmissionPolicyBinding{}},

		{GroupVersion: certificatesv1.SchemeGroupVersion, plural: "certificatesigningrequests", singular: "certificatesigningrequest", kind: "CertificateSigningRequest", shortNames: []string{"csr"}, status: true, object: &certificatesv1.CertificateSigningRequest{}, selectable: csrFields},
		{GroupVersion: certificatesv1beta1.SchemeGroupVersion, plural: "clustertrustbundles", singular: "clustertrustbundle", kind: "ClusterTrustBundle", object: &certificatesv1beta1.ClusterTrustBundle{}, selectable: trustBundleFields},

		{GroupVersion: nodev1.SchemeGroupVersion, plural: "runtimeclasses", singular: "runtimeclass", kind: "RuntimeClass", object: &nodev1.RuntimeClass{}},
		{GroupVersion: schedulingv1.SchemeGroupVersion, plural: "priorityclasses", singular: "priorityclass", kind: "PriorityClass", shortNames: []string{"pc"}, object: &schedulingv1.PriorityClass{}},
		{GroupVersion: storagev1.SchemeGroupVersion, plural: "storageclasses", singular: "storageclass", kind: "StorageClass", shortNames: []string{"sc"}, object: &storagev1.StorageClass{}},
	}
}

func namespaceFields(obj runtime.Object) fields.Set {
	namespace := obj.(*corev1.Namespace)
	return fields.Set{"status.phase": string(namespace.Status.Phase)}
}

func podFields(obj runtime.Object) fields.Set {
	pod := obj.(*corev1.Pod)
	set := fields.Set{
		"spec.nodeName":            pod.Spec.NodeName,
		"spec.restartPolicy":       string(pod.Spec.RestartPolicy),
		"spec.schedulerName":       pod.Spec.SchedulerName,
		"spec.serviceAccountName":  pod.Spec.ServiceAccountName,
		"spec.hostNetwork":         boolField(pod.Spec.HostNetwork),
		"status.phase":             string(pod.Status.Phase),
		"status.nominatedNodeName": pod.Status.NominatedNodeName,
		"status.podIP":             pod.Status.PodIP,
	}
	if set["status.podIP"] == "" && len(pod.Status.PodIPs) > 0 {
		set["status.podIP"] = pod.Status.PodIPs[0].IP
	}
	return set
}

func serviceFields(obj runtime.Object) fields.Set {
	service := obj.(*corev1.Service)
	return fields.Set{"spec.clusterIP": service.Spec.ClusterIP, "spec.type": string(service.Spec.Type)}
}

func secretFields(obj runtime.Object) fields.Set {
	return fields.Set{"type": string(obj.(*corev1.Secret).Type)}
}

func nodeFields(obj runtime.Object) fields.Set {
	return fields.Set{"spec.unschedulable": boolField(obj.(*corev1.Node).Spec.Unschedulable)}
}

func eventFields(obj runtime.Object) fields.Set {
	event := obj.(*corev1.Event)
	source := event.Source.Component
	if source == "" {
		source = event.ReportingController
	}
	return fields.Set{
		"involvedObject.kind":            event.InvolvedObject.Kind,
		"involvedObject.namespace":       event.InvolvedObject.Namespace,
		"involvedObject.name":            event.InvolvedObject.Name,
		"involvedObject.uid":             string(event.InvolvedObject.UID),
		"involvedObject.apiVersion":      event.InvolvedObject.APIVersion,
		"involvedObject.resourceVersion": event.InvolvedObject.ResourceVersion,
		"involvedObject.fieldPath":       event.InvolvedObject.FieldPath,
		"reason":                         event.Reason,
		"reportingComponent":             event.ReportingController,
		"source":                         source,
		"type":                           event.Type,
	}
}

func csrFields(obj runtime.Object) fields.Set {
	return fields.Set{"spec.signerName": obj.(*certificatesv1.CertificateSigningRequest).Spec.SignerName}
}

func trustBundleFields(obj runtime.Object) fields.Set {
	return fields.Set{"spec.signerName": obj.(*certificatesv1beta1.ClusterTrustBundle).Spec.SignerName}
}

func boolField(value bool) string {
	if value {
		return "true"
	}
	return "false"
}
