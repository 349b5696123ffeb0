package main

import (
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// defaulted registers the defaults of a type, which decoders apply.
func defaulted[T any](scheme *runtime.Scheme, obj *T, set func(*T)) {
	scheme.AddTypeDefaultingFunc(any(obj).(runtime.Object), func(value any) { set(value.(*T)) })
}

// addDefaults registers the defaults of the served types that clients of a service mesh read.
func addDefaults(scheme *runtime.Scheme) {
	addCoreDefaults(scheme)
	addWorkloadDefaults(scheme)
	addAdmissionDefaults(scheme)
	defaulted(scheme, &discoveryv1.EndpointSlice{}, defaultEndpointSlice)
	defaulted(scheme, &networkingv1.NetworkPolicy{}, func(policy *networkingv1.NetworkPolicy) {
		if len(policy.Spec.PolicyTypes) == 0 {
			policy.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
			if len(policy.Spec.Egress) > 0 {
				policy.Spec.PolicyTypes = append(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
			}
		}
	})
	defaulted(scheme, &autoscalingv2.HorizontalPodAutoscaler{}, func(hpa *autoscalingv2.HorizontalPodAutoscaler) {
		setDefault(&hpa.Spec.MinReplicas, 1)
	})
	defaulted(scheme, &rbacv1.RoleBinding{}, func(binding *rbacv1.RoleBinding) {
		defaultBinding(&binding.RoleRef, binding.Subjects)
	})
	defaulted(scheme, &rbacv1.ClusterRoleBinding{}, func(binding *rbacv1.ClusterRoleBinding) {
		defaultBinding(&binding.RoleRef, binding.Subjects)
	})
}

func addCoreDefaults(scheme *runtime.Scheme) {
	defaulted(scheme, &corev1.Pod{}, func(pod *corev1.Pod) {
		if pod.Spec.EnableServiceLinks == nil {
			pod.Spec.EnableServiceLinks = ptr.To(true)
		}
		defaultPodSpec(&pod.Spec)
	})
	defaulted(scheme, &corev1.Service{}, defaultService)
	defaulted(scheme, &corev1.Secret{}, func(secret *corev1.Secret) {
		setEmpty(&secret.Type, corev1.SecretTypeOpaque)
		moveStringData(secret)
	})
	defaulted(scheme, &corev1.Namespace{}, func(namespace *corev1.Namespace) {
		if namespace.Name == "" {
			return
		}
		if namespace.Labels == nil {
			namespace.Labels = map[string]string{}
		}
		namespace.Labels[corev1.LabelMetadataName] = namespace.Name
	})
	defaulted(scheme, &corev1.Endpoints{}, func(endpoints *corev1.Endpoints) {
		for i := range endpoints.Subsets {
			for j := range endpoints.Subsets[i].Ports {
				setEmpty(&endpoints.Subsets[i].Ports[j].Protocol, corev1.ProtocolTCP)
			}
		}
	})
}

// moveStringData moves the values that are given as strings, over others of the same key. Real servers do so where they
// convert to the internal type, also at each decoding.
func moveStringData(secret *corev1.Secret) {
	for key, value := range secret.StringData {
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
}

func defaultPodSpec(spec *corev1.PodSpec) {
	setEmpty(&spec.DNSPolicy, corev1.DNSClusterFirst)
	setEmpty(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	setEmpty(&spec.SchedulerName, corev1.DefaultSchedulerName)
	setDefault(&spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	if spec.ServiceAccountName != "" {
		spec.DeprecatedServiceAccount = spec.ServiceAccountName
	} else {
		spec.ServiceAccountName = spec.DeprecatedServiceAccount
	}
	for i := range spec.InitContainers {
		defaultContainer(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		defaultContainer(&spec.Containers[i])
	}
	for i := range spec.EphemeralContainers {
		defaultContainer((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	for i := range spec.Volumes {
		defaultVolume(&spec.Volumes[i])
	}
}

func defaultContainer(container *corev1.Container) {
	setEmpty(&container.ImagePullPolicy, pullPolicy(container.Image))
	setEmpty(&container.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	setEmpty(&container.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range container.Ports {
		setEmpty(&container.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range container.Env {
		if source := container.Env[i].ValueFrom; source != nil && source.FieldRef != nil {
			setEmpty(&source.FieldRef.APIVersion, "v1")
		}
	}
	for _, probe := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe, container.StartupProbe} {
		defaultProbe(probe)
	}
	if limits := container.Resources.Limits; limits != nil {
		if container.Resources.Requests == nil {
			container.Resources.Requests = corev1.ResourceList{}
		}
		for name, quantity := range limits {
			if _, ok := container.Resources.Requests[name]; !ok {
				container.Resources.Requests[name] = quantity.DeepCopy()
			}
		}
	}
}

func defaultProbe(probe *corev1.Probe) {
	if probe == nil {
		return
	}
	setEmpty(&probe.TimeoutSeconds, 1)
	setEmpty(&probe.PeriodSeconds, 10)
	setEmpty(&probe.SuccessThreshold, 1)
	setEmpty(&probe.FailureThreshold, 3)
	if probe.HTTPGet != nil {
		setEmpty(&probe.HTTPGet.Path, "/")
		setEmpty(&probe.HTTPGet.Scheme, corev1.URISchemeHTTP)
	}
}

func defaultVolume(volume *corev1.Volume) {
	switch {
	case volume.ConfigMap != nil:
		setDefault(&volume.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	case volume.Secret != nil:
		setDefault(&volume.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	case volume.DownwardAPI != nil:
		setDefault(&volume.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		defaultDownwardAPI(volume.DownwardAPI.Items)
	case volume.Projected != nil:
		setDefault(&volume.Projected.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
		for _, source := range volume.Projected.Sources {
			if source.ServiceAccountToken != nil {
				setDefault(&source.ServiceAccountToken.ExpirationSeconds, 3600)
			}
			if source.DownwardAPI != nil {
				defaultDownwardAPI(source.DownwardAPI.Items)
			}
		}
	}
}

func defaultDownwardAPI(items []corev1.DownwardAPIVolumeFile) {
	for _, item := range items {
		if item.FieldRef != nil {
			setEmpty(&item.FieldRef.APIVersion, "v1")
		}
	}
}

func defaultService(service *corev1.Service) {
	spec := &service.Spec
	setEmpty(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	setEmpty(&spec.Type, corev1.ServiceTypeClusterIP)
	for i := range spec.Ports {
		setEmpty(&spec.Ports[i].Protocol, corev1.ProtocolTCP)
		if spec.Ports[i].TargetPort == intstr.FromInt32(0) || spec.Ports[i].TargetPort == intstr.FromString("") {
			spec.Ports[i].TargetPort = intstr.FromInt32(spec.Ports[i].Port)
		}
	}
	if spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer {
		setEmpty(&spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	if spec.Type == corev1.ServiceTypeLoadBalancer {
		setDefault(&spec.AllocateLoadBalancerNodePorts, true)
	}
	if spec.Type != corev1.ServiceTypeExternalName {
		setDefault(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
}

func defaultEndpointSlice(slice *discoveryv1.EndpointSlice) {
	for i := range slice.Ports {
		setDefault(&slice.Ports[i].Name, "")
		setDefault(&slice.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}

func addWorkloadDefaults(scheme *runtime.Scheme) {
	defaulted(scheme, &appsv1.Deployment{}, func(deployment *appsv1.Deployment) {
		spec := &deployment.Spec
		setDefault(&spec.Replicas, 1)
		setDefault(&spec.RevisionHistoryLimit, 10)
		setDefault(&spec.ProgressDeadlineSeconds, 600)
		setEmpty(&spec.Strategy.Type, appsv1.RollingUpdateDeploymentStrategyType)
		if spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
			if spec.Strategy.RollingUpdate == nil {
				spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{}
			}
			setDefault(&spec.Strategy.RollingUpdate.MaxUnavailable, intstr.FromString("25%"))
			setDefault(&spec.Strategy.RollingUpdate.MaxSurge, intstr.FromString("25%"))
		}
		defaultPodSpec(&spec.Template.Spec)
	})
	defaulted(scheme, &appsv1.ReplicaSet{}, func(set *appsv1.ReplicaSet) {
		setDefault(&set.Spec.Replicas, 1)
		defaultPodSpec(&set.Spec.Template.Spec)
	})
	defaulted(scheme, &appsv1.StatefulSet{}, func(set *appsv1.StatefulSet) {
		setDefault(&set.Spec.Replicas, 1)
		setDefault(&set.Spec.RevisionHistoryLimit, 10)
		setEmpty(&set.Spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
		setEmpty(&set.Spec.UpdateStrategy.Type, appsv1.RollingUpdateStatefulSetStrategyType)
		defaultPodSpec(&set.Spec.Template.Spec)
	})
	defaulted(scheme, &appsv1.DaemonSet{}, func(set *appsv1.DaemonSet) {
		setDefault(&set.Spec.RevisionHistoryLimit, 10)
		setEmpty(&set.Spec.UpdateStrategy.Type, appsv1.RollingUpdateDaemonSetStrategyType)
		defaultPodSpec(&set.Spec.Template.Spec)
	})
	defaulted(scheme, &batchv1.Job{}, func(job *batchv1.Job) {
		setDefault(&job.Spec.Completions, 1)
		setDefault(&job.Spec.Parallelism, 1)
		setDefault(&job.Spec.BackoffLimit, 6)
		setDefault(&job.Spec.Suspend, false)
		setDefault(&job.Spec.CompletionMode, batchv1.NonIndexedCompletion)
		defaultPodSpec(&job.Spec.Template.Spec)
	})
	defaulted(scheme, &batchv1.CronJob{}, func(job *batchv1.CronJob) {
		setEmpty(&job.Spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
		setDefault(&job.Spec.Suspend, false)
		defaultPodSpec(&job.Spec.JobTemplate.Spec.Template.Spec)
	})
}

func addAdmissionDefaults(scheme *runtime.Scheme) {
	defaulted(scheme, &admissionregistrationv1.MutatingWebhookConfiguration{}, func(config *admissionregistrationv1.MutatingWebhookConfiguration) {
		for i := range config.Webhooks {
			webhook := &config.Webhooks[i]
			setDefault(&webhook.FailurePolicy, admissionregistrationv1.Fail)
			setDefault(&webhook.MatchPolicy, admissionregistrationv1.Equivalent)
			setDefault(&webhook.TimeoutSeconds, 10)
			setDefault(&webhook.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
			setSelectors(&webhook.NamespaceSelector, &webhook.ObjectSelector)
			defaultWebhook(&webhook.ClientConfig, webhook.Rules)
		}
	})
	defaulted(scheme, &admissionregistrationv1.ValidatingWebhookConfiguration{}, func(config *admissionregistrationv1.ValidatingWebhookConfiguration) {
		for i := range config.Webhooks {
			webhook := &config.Webhooks[i]
			setDefault(&webhook.FailurePolicy, admissionregistrationv1.Fail)
			setDefault(&webhook.MatchPolicy, admissionregistrationv1.Equivalent)
			setDefault(&webhook.TimeoutSeconds, 10)
			setSelectors(&webhook.NamespaceSelector, &webhook.ObjectSelector)
			defaultWebhook(&webhook.ClientConfig, webhook.Rules)
		}
	})
	defaulted(scheme, &admissionregistrationv1.ValidatingAdmissionPolicy{}, func(policy *admissionregistrationv1.ValidatingAdmissionPolicy) {
		setDefault(&policy.Spec.FailurePolicy, admissionregistrationv1.Fail)
		if constraints := policy.Spec.MatchConstraints; constraints != nil {
			defaultMatchResources(constraints)
		}
	})
	defaulted(scheme, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}, func(binding *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
		if binding.Spec.MatchResources != nil {
			defaultMatchResources(binding.Spec.MatchResources)
		}
	})
}

func defaultMatchResources(resources *admissionregistrationv1.MatchResources) {
	setDefault(&resources.MatchPolicy, admissionregistrationv1.Equivalent)
	setSelectors(&resources.NamespaceSelector, &resources.ObjectSelector)
	for i := range resources.ResourceRules {
		setDefault(&resources.ResourceRules[i].Scope, admissionregistrationv1.AllScopes)
	}
	for i := range resources.ExcludeResourceRules {
		setDefault(&resources.ExcludeResourceRules[i].Scope, admissionregistrationv1.AllScopes)
	}
}

func defaultWebhook(client *admissionregistrationv1.WebhookClientConfig, rules []admissionregistrationv1.RuleWithOperations) {
	if client.Service != nil {
		setDefault(&client.Service.Port, 443)
	}
	for i := range rules {
		setDefault(&rules[i].Scope, admissionregistrationv1.AllScopes)
	}
}

func defaultBinding(role *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	setEmpty(&role.APIGroup, rbacv1.GroupName)
	for i := range subjects {
		if subjects[i].Kind == rbacv1.UserKind || subjects[i].Kind == rbacv1.GroupKind {
			setEmpty(&subjects[i].APIGroup, rbacv1.GroupName)
		}
	}
}

func setEmpty[T comparable](target *T, value T) {
	var zero T
	if *target == zero {
		*target = value
	}
}

func setDefault[T any](target **T, value T) {
	if *target == nil {
		*target = &value
	}
}

func setSelectors(selectors ...**metav1.LabelSelector) {
	for _, selector := range selectors {
		if *selector == nil {
			*selector = &metav1.LabelSelector{}
		}
	}
}

// pullPolicy is Always for the tag latest, which is also the default tag.
func pullPolicy(image string) corev1.PullPolicy {
	name := image[strings.LastIndex(image, "/")+1:]
	if strings.Contains(name, "@") {
		return corev1.PullIfNotPresent
	}
	if _, tag, tagged := strings.Cut(name, ":"); tagged && tag != "latest" {
		return corev1.PullIfNotPresent
	}
	return corev1.PullAlways
}
