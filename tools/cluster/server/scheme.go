package main

import (
	"fmt"
	"reflect"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// newScheme returns a scheme in which the Go types of the API are also the types that handlers and storage work on.
// The real API server has separate internal types; the handlers only require that one is registered.
func newScheme(stored []*resource) *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for _, r := range stored {
		internal := schema.GroupVersion{Group: r.Group, Version: runtime.APIVersionInternal}
		scheme.AddKnownTypeWithName(internal.WithKind(r.kind), r.object)
		scheme.AddKnownTypeWithName(internal.WithKind(r.kind+"List"), newObject(scheme, r.WithKind(r.kind+"List")))
		addFieldLabels(scheme, r)
	}
	for _, obj := range []runtime.Object{&authenticationv1.TokenRequest{}, &authenticationv1.TokenReview{}, &authenticationv1.SelfSubjectReview{}} {
		scheme.AddKnownTypes(schema.GroupVersion{Group: authenticationv1.GroupName, Version: runtime.APIVersionInternal}, obj)
	}
	for _, obj := range []runtime.Object{
		&authorizationv1.SubjectAccessReview{}, &authorizationv1.LocalSubjectAccessReview{},
		&authorizationv1.SelfSubjectAccessReview{}, &authorizationv1.SelfSubjectRulesReview{},
	} {
		scheme.AddKnownTypes(schema.GroupVersion{Group: authorizationv1.GroupName, Version: runtime.APIVersionInternal}, obj)
	}
	scheme.AddKnownTypes(schema.GroupVersion{Version: runtime.APIVersionInternal}, &corev1.PodExecOptions{})
	scheme.AddKnownTypes(schema.GroupVersion{Group: autoscalingv1.GroupName, Version: runtime.APIVersionInternal}, &autoscalingv1.Scale{})
	addDefaults(scheme)
	return scheme
}

func addFieldLabels(scheme *runtime.Scheme, r *resource) {
	known := fields.Set{"metadata.name": ""}
	if r.namespaced {
		known["metadata.namespace"] = ""
	}
	if r.selectable != nil {
		for label := range r.selectable(reflect.New(reflect.TypeOf(r.object).Elem()).Interface().(runtime.Object)) {
			known[label] = ""
		}
	}
	kind := r.kind
	utilruntime.Must(scheme.AddFieldLabelConversionFunc(r.WithKind(kind), func(label, value string) (string, string, error) {
		if _, ok := known[label]; !ok {
			return "", "", fmt.Errorf("%q is not a known field selector: only the fields of %s", label, kind)
		}
		return label, value, nil
	}))
}

func newObject(scheme *runtime.Scheme, kind schema.GroupVersionKind) runtime.Object {
	obj, err := scheme.New(kind)
	utilruntime.Must(err)
	return obj
}

func newCodecs(scheme *runtime.Scheme) serializer.CodecFactory {
	return serializer.NewCodecFactory(scheme,
		serializer.WithStreamingCollectionEncodingToJSON(), serializer.WithStreamingCollectionEncodingToProtobuf())
}
