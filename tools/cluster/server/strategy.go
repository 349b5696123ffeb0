package main

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// strategy applies the conventions of the API: status is written by its subresource only, and the generation counts
// the changes of the specification.
type strategy struct {
	runtime.ObjectTyper
	names.NameGenerator
	resource *resource
	// prepare completes a new object; nil without effect.
	prepare func(ctx context.Context, obj runtime.Object)
	// prepareUpdate restores fields that an update cannot change; nil without effect.
	prepareUpdate func(obj, old runtime.Object)
	// validate returns the errors of an object, on update with the old one; nil without effect.
	validate func(obj, old runtime.Object) field.ErrorList
}

func newStrategy(typer runtime.ObjectTyper, r *resource) *strategy {
	return &strategy{ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, resource: r}
}

func (s *strategy) NamespaceScoped() bool { return s.resource.namespaced }

func (s *strategy) PrepareForCreate(ctx context.Context, obj runtime.Object) {
	if s.resource.status {
		clearField(obj, "Status")
	}
	if s.resource.hasGeneration() {
		accessor(obj).SetGeneration(1)
	}
	if s.prepare != nil {
		s.prepare(ctx, obj)
	}
}

func (s *strategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	if s.resource.status {
		copyField(obj, old, "Status")
	}
	if s.prepareUpdate != nil {
		s.prepareUpdate(obj, old)
	}
	if generation := accessor(old).GetGeneration(); generation > 0 {
		if contentEqual(obj, old) {
			accessor(obj).SetGeneration(generation)
		} else {
			accessor(obj).SetGeneration(generation + 1)
		}
	}
}

func (s *strategy) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	errs := validateNames(s.resource, obj)
	if s.validate != nil {
		errs = append(errs, s.validate(obj, nil)...)
	}
	return errs
}

func (s *strategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	if s.validate != nil {
		return s.validate(obj, old)
	}
	return nil
}

func (s *strategy) WarningsOnCreate(context.Context, runtime.Object) []string { return nil }
func (s *strategy) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}
func (s *strategy) Canonicalize(runtime.Object) {}
func (s *strategy) AllowCreateOnUpdate(context.Context) bool {
	return s.resource.plural == "leases" || s.resource.plural == "endpoints" || s.resource.plural == "events"
}
func (s *strategy) AllowUnconditionalUpdate(context.Context) bool {
	return s.resource.plural != "leases" && s.resource.plural != "clustertrustbundles"
}

func (s *strategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	if !s.resource.status {
		return nil
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(s.resource.GroupVersion.String()): fieldpath.NewSet(fieldpath.MakePathOrDie("status")),
	}
}

// statusStrategy changes the status and nothing else.
type statusStrategy struct{ *strategy }

func (s statusStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	if hasField(obj, "Spec") {
		copyField(obj, old, "Spec")
	}
	current, previous := accessor(obj), accessor(old)
	if s.resource.plural == "pods" || s.resource.plural == "nodes" {
		// Kubelets change labels and annotations together with the status.
		current.SetOwnerReferences(previous.GetOwnerReferences())
		return
	}
	keepMetadata(current, previous)
}

// keepMetadata restores the metadata that users change, except for the managers of fields.
func keepMetadata(current, previous metav1.Object) {
	managed := current.GetManagedFields()
	metav1.ResetObjectMetaForStatus(current, previous)
	current.SetManagedFields(managed)
}

func (s statusStrategy) ValidateUpdate(context.Context, runtime.Object, runtime.Object) field.ErrorList {
	return nil
}

func (s statusStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(s.resource.GroupVersion.String()): fieldpath.NewSet(fieldpath.MakePathOrDie("spec")),
	}
}

// contentEqual reports whether two objects are equal except for metadata and status.
func contentEqual(a, b runtime.Object) bool {
	left, right := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range left.NumField() {
		switch left.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
		default:
			if !equality.Semantic.DeepEqual(left.Field(i).Interface(), right.Field(i).Interface()) {
				return false
			}
		}
	}
	return accessor(a).GetDeletionTimestamp().Equal(accessor(b).GetDeletionTimestamp())
}

func accessor(obj runtime.Object) metav1.Object {
	result, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	return result
}

func hasField(obj runtime.Object, name string) bool {
	return reflect.ValueOf(obj).Elem().FieldByName(name).IsValid()
}

func clearField(obj runtime.Object, name string) {
	reflect.ValueOf(obj).Elem().FieldByName(name).SetZero()
}

func copyField(to, from runtime.Object, name string) {
	reflect.ValueOf(to).Elem().FieldByName(name).Set(reflect.ValueOf(from.DeepCopyObject()).Elem().FieldByName(name))
}
