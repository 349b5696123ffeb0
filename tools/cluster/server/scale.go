package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
)

// scaleREST serves the number of replicas of a workload.
type scaleREST struct{ store *store }

func (*scaleREST) New() runtime.Object { return &autoscalingv1.Scale{} }
func (*scaleREST) Destroy()            {}

// GroupVersionKind implements rest.GroupVersionKindProvider: the kind is of another group than the workload's.
func (*scaleREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return autoscalingv1.SchemeGroupVersion.WithKind("Scale")
}

func (s *scaleREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	workload, err := s.store.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return scaleOf(workload)
}

func (s *scaleREST) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	changed, _, err := s.store.Update(ctx, name, scaledObject{info}, create, asScales(update), false, options)
	if err != nil {
		return nil, false, err
	}
	scale, err := scaleOf(changed)
	return scale, false, err
}

func (s *scaleREST) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return rest.NewDefaultTableConvertor(s.store.resource.groupResource()).ConvertToTable(ctx, object, options)
}

// scaledObject changes the number of replicas of a workload to that of an updated scale.
type scaledObject struct{ scale rest.UpdatedObjectInfo }

func (s scaledObject) Preconditions() *metav1.Preconditions { return s.scale.Preconditions() }

func (s scaledObject) UpdatedObject(ctx context.Context, workload runtime.Object) (runtime.Object, error) {
	old, err := scaleOf(workload)
	if err != nil {
		return nil, err
	}
	updated, err := s.scale.UpdatedObject(ctx, old)
	if err != nil {
		return nil, err
	}
	scale, ok := updated.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest("expected a Scale")
	}
	if scale.Spec.Replicas < 0 {
		return nil, apierrors.NewBadRequest("spec.replicas: must not be negative")
	}
	changed := workload.DeepCopyObject()
	if scale.ResourceVersion != "" {
		accessor(changed).SetResourceVersion(scale.ResourceVersion)
	}
	replicas, _, _ := replicasOf(changed)
	*replicas = &scale.Spec.Replicas
	return changed, nil
}

// asScales lets an admission check of scales check workloads.
func asScales(check rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	if check == nil {
		return nil
	}
	return func(ctx context.Context, obj, old runtime.Object) error {
		next, err := scaleOf(obj)
		if err != nil {
			return err
		}
		previous, err := scaleOf(old)
		if err != nil {
			return err
		}
		return check(ctx, next, previous)
	}
}

func scaleOf(workload runtime.Object) (*autoscalingv1.Scale, error) {
	replicas, current, selector := replicasOf(workload)
	if replicas == nil {
		return nil, apierrors.NewBadRequest("the object has no replicas")
	}
	labels, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil, err
	}
	meta := accessor(workload)
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: meta.GetName(), Namespace: meta.GetNamespace(), UID: meta.GetUID(),
			ResourceVersion: meta.GetResourceVersion(), CreationTimestamp: meta.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: valueOr(*replicas, 1)},
		Status: autoscalingv1.ScaleStatus{Replicas: current, Selector: labels.String()},
	}, nil
}

// replicasOf returns where a workload has its number of replicas, the current number and the selector.
func replicasOf(workload runtime.Object) (**int32, int32, *metav1.LabelSelector) {
	switch workload := workload.(type) {
	case *appsv1.Deployment:
		return &workload.Spec.Replicas, workload.Status.Replicas, workload.Spec.Selector
	case *appsv1.ReplicaSet:
		return &workload.Spec.Replicas, workload.Status.Replicas, workload.Spec.Selector
	case *appsv1.StatefulSet:
		return &workload.Spec.Replicas, workload.Status.Replicas, workload.Spec.Selector
	default:
		return nil, 0, nil
	}
}
