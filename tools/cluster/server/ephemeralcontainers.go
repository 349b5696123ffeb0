package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ephemeralContainersStrategy adds ephemeral containers to a pod, and changes nothing else.
type ephemeralContainersStrategy struct{ *strategy }

func (s ephemeralContainersStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	added := obj.(*corev1.Pod).Spec.EphemeralContainers
	copyField(obj, old, "Spec")
	obj.(*corev1.Pod).Spec.EphemeralContainers = added
	copyField(obj, old, "Status")
	keepMetadata(accessor(obj), accessor(old))
	if !equality.Semantic.DeepEqual(added, old.(*corev1.Pod).Spec.EphemeralContainers) {
		accessor(obj).SetGeneration(accessor(old).GetGeneration() + 1)
	}
}

func (s ephemeralContainersStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	pod, before := obj.(*corev1.Pod), old.(*corev1.Pod)
	path := field.NewPath("spec", "ephemeralContainers")
	others, names := map[string]bool{}, map[string]bool{}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, container := range containers {
			others[container.Name], names[container.Name] = true, true
		}
	}
	var errs field.ErrorList
	for i, container := range pod.Spec.EphemeralContainers {
		at := path.Index(i)
		if container.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		}
		if container.Image == "" {
			errs = append(errs, field.Required(at.Child("image"), ""))
		}
		if target := container.TargetContainerName; target != "" && !others[target] {
			errs = append(errs, field.NotFound(at.Child("targetContainerName"), target))
		}
		if names[container.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), container.Name))
		}
		names[container.Name] = true
	}
	for _, container := range before.Spec.EphemeralContainers {
		if !hasEphemeralContainer(pod, container) {
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("existing ephemeral containers %q may not be removed or changed", container.Name)))
		}
	}
	return errs
}

func hasEphemeralContainer(pod *corev1.Pod, wanted corev1.EphemeralContainer) bool {
	for _, container := range pod.Spec.EphemeralContainers {
		if container.Name == wanted.Name {
			return equality.Semantic.DeepEqual(container, wanted)
		}
	}
	return false
}

// keepEphemeralContainers restores the ephemeral containers, which only their subresource changes.
func keepEphemeralContainers(obj, old runtime.Object) {
	obj.(*corev1.Pod).Spec.EphemeralContainers = old.(*corev1.Pod).DeepCopy().Spec.EphemeralContainers
}
