package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storeerr "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"
)

// namespaceStore deletes namespaces in two steps: they are Terminating until their finalizers are removed.
type namespaceStore struct{ *store }

func prepareNamespace(_ context.Context, obj runtime.Object) {
	namespace := obj.(*corev1.Namespace)
	namespace.Status.Phase = corev1.NamespaceActive
	for _, finalizer := range namespace.Spec.Finalizers {
		if finalizer == corev1.FinalizerKubernetes {
			return
		}
	}
	namespace.Spec.Finalizers = append(namespace.Spec.Finalizers, corev1.FinalizerKubernetes)
}

// keepFinalizers restores the finalizers, which only the subresource finalize changes.
func keepFinalizers(obj, old runtime.Object) {
	obj.(*corev1.Namespace).Spec.Finalizers = old.(*corev1.Namespace).Spec.Finalizers
}

func isFinalized(_ context.Context, _ string, obj, existing runtime.Object) bool {
	namespace := obj.(*corev1.Namespace)
	return namespace.DeletionTimestamp != nil && len(namespace.Spec.Finalizers) == 0 && len(namespace.Finalizers) == 0 &&
		existing != nil
}

func (s *namespaceStore) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	found, err := s.Store.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	namespace := found.(*corev1.Namespace)
	if len(namespace.Spec.Finalizers) == 0 && len(namespace.Finalizers) == 0 {
		return s.Store.Delete(ctx, name, validate, options)
	}
	if options.Preconditions != nil && options.Preconditions.UID != nil && *options.Preconditions.UID != namespace.UID {
		return nil, false, apierrors.NewConflict(s.resource.groupResource(), name, errPrecondition)
	}
	if validate != nil {
		if err := validate(ctx, namespace); err != nil {
			return nil, false, err
		}
	}
	if namespace.DeletionTimestamp != nil || dryrun.IsDryRun(options.DryRun) {
		return namespace, false, nil
	}
	// Updates by way of a strategy keep the time of deletion as it is.
	key, err := s.Store.KeyFunc(ctx, name)
	if err != nil {
		return nil, false, err
	}
	now := metav1.Now()
	updated := &corev1.Namespace{}
	err = s.Store.Storage.GuaranteedUpdate(ctx, key, updated, false, nil, storage.SimpleUpdate(func(existing runtime.Object) (runtime.Object, error) {
		terminating := existing.(*corev1.Namespace)
		if terminating.DeletionTimestamp == nil {
			terminating.DeletionTimestamp = &now
		}
		terminating.Status.Phase = corev1.NamespaceTerminating
		return terminating, nil
	}), false, nil)
	return updated, false, storeerr.InterpretUpdateError(err, s.resource.groupResource(), name)
}

// finalizeStrategy changes the finalizers of a namespace and nothing else.
type finalizeStrategy struct{ *strategy }

func (finalizeStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	finalizers := obj.(*corev1.Namespace).Spec.Finalizers
	version := accessor(obj).GetResourceVersion()
	changed := old.DeepCopyObject().(*corev1.Namespace)
	changed.Spec.Finalizers = finalizers
	changed.ResourceVersion = version
	*obj.(*corev1.Namespace) = *changed
}
