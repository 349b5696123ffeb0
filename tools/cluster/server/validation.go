package main

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateNames checks an object's name by the rule of its kind, and labels and annotations.
func validateNames(r *resource, obj runtime.Object) field.ErrorList {
	object := accessor(obj)
	path := field.NewPath("metadata")
	var errs field.ErrorList
	if object.GetName() == "" {
		return append(errs, field.Required(path.Child("name"), "name or generateName is required"))
	}
	for _, message := range nameErrors(r, object.GetName()) {
		errs = append(errs, field.Invalid(path.Child("name"), object.GetName(), message))
	}
	return errs
}

func nameErrors(r *resource, name string) []string {
	switch r.plural {
	case "roles", "rolebindings", "clusterroles", "clusterrolebindings":
		return content.IsPathSegmentName(name)
	case "clustertrustbundles":
		return content.IsPathSegmentName(strings.ReplaceAll(name, ":", "-"))
	case "namespaces":
		return validation.IsDNS1123Label(name)
	case "services":
		return validation.IsDNS1035Label(name)
	default:
		return validation.IsDNS1123Subdomain(name)
	}
}

func validateSecret(obj, old runtime.Object) field.ErrorList {
	var errs field.ErrorList
	secret := obj.(*corev1.Secret)
	for _, required := range requiredSecretKeys[secret.Type] {
		if _, ok := secret.Data[required]; !ok {
			errs = append(errs, field.Required(field.NewPath("data").Key(required), ""))
		}
	}
	errs = append(errs, validateKeys(secret.Data)...)
	if secret.Type == corev1.SecretTypeServiceAccountToken && secret.Annotations[corev1.ServiceAccountNameKey] == "" {
		errs = append(errs, field.Required(field.NewPath("metadata", "annotations").Key(corev1.ServiceAccountNameKey), ""))
	}
	if old == nil {
		return errs
	}
	previous := old.(*corev1.Secret)
	if previous.Type != secret.Type {
		errs = append(errs, field.Invalid(field.NewPath("type"), secret.Type, "field is immutable"))
	}
	return append(errs, validateImmutable(previous.Immutable, previous, secret)...)
}

var requiredSecretKeys = map[corev1.SecretType][]string{
	corev1.SecretTypeTLS:              {corev1.TLSCertKey, corev1.TLSPrivateKeyKey},
	corev1.SecretTypeDockerConfigJson: {corev1.DockerConfigJsonKey},
	corev1.SecretTypeDockercfg:        {corev1.DockerConfigKey},
	corev1.SecretTypeSSHAuth:          {corev1.SSHAuthPrivateKey},
}

func validateConfigMap(obj, old runtime.Object) field.ErrorList {
	configMap := obj.(*corev1.ConfigMap)
	errs := append(validateKeys(configMap.Data), validateKeys(configMap.BinaryData)...)
	if old != nil {
		previous := old.(*corev1.ConfigMap)
		errs = append(errs, validateImmutable(previous.Immutable, previous, configMap)...)
	}
	return errs
}

func validateKeys[V any](data map[string]V) field.ErrorList {
	var errs field.ErrorList
	for key := range data {
		for _, message := range validation.IsConfigMapKey(key) {
			errs = append(errs, field.Invalid(field.NewPath("data").Key(key), key, message))
		}
	}
	return errs
}

func validateImmutable(immutable *bool, old, obj runtime.Object) field.ErrorList {
	if immutable == nil || !*immutable || contentEqual(old, obj) {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("data"), "field is immutable when `immutable` is set")}
}

func validatePod(obj, old runtime.Object) field.ErrorList {
	pod := obj.(*corev1.Pod)
	path := field.NewPath("spec", "containers")
	if len(pod.Spec.Containers) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	if old == nil && len(pod.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "ephemeralContainers"), "cannot be set on create"))
	}
	for i, container := range pod.Spec.Containers {
		if container.Name == "" {
			errs = append(errs, field.Required(path.Index(i).Child("name"), ""))
		}
		if container.Image == "" {
			errs = append(errs, field.Required(path.Index(i).Child("image"), ""))
		}
	}
	return errs
}
