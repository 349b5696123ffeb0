package main

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// store serves the collection and the objects of a resource.
type store struct {
	*genericregistry.Store
	resource *resource
}

func (s *store) ShortNames() []string { return s.resource.shortNames }

func (s *store) Categories() []string {
	if s.resource.all {
		return []string{"all"}
	}
	return nil
}

func newStore(scheme *runtime.Scheme, r *resource, strategy *strategy, options generic.RESTOptionsGetter) (*store, error) {
	attributes := func(obj runtime.Object) (labels.Set, fields.Set, error) {
		object := accessor(obj)
		set := generic.ObjectMetaFieldsSet(&metav1.ObjectMeta{Name: object.GetName(), Namespace: object.GetNamespace()}, r.namespaced)
		if r.selectable != nil {
			set = generic.MergeFieldsSets(set, r.selectable(obj))
		}
		return object.GetLabels(), set, nil
	}
	groupResource := r.groupResource()
	singular := groupResource
	singular.Resource = r.singular
	base := &genericregistry.Store{
		NewFunc: func() runtime.Object {
			return reflect.New(reflect.TypeOf(r.object).Elem()).Interface().(runtime.Object)
		},
		NewListFunc: func() runtime.Object { return newObject(scheme, r.WithKind(r.kind+"List")) },
		PredicateFunc: func(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
			return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: attributes}
		},
		DefaultQualifiedResource:  groupResource,
		SingularQualifiedResource: singular,
		CreateStrategy:            strategy,
		UpdateStrategy:            strategy,
		DeleteStrategy:            strategy,
		ResetFieldsStrategy:       strategy,
		TableConvertor:            tableOf(r),
		// Real API servers return a Status, except for the kinds that kubelets and controllers wait for.
		ReturnDeletedObject: r.plural == "pods" || r.plural == "serviceaccounts" || r.plural == "services",
	}
	return &store{Store: base, resource: r}, base.CompleteWithOptions(storeOptions(options, attributes))
}

func storeOptions(options generic.RESTOptionsGetter, attributes storage.AttrFunc) *generic.StoreOptions {
	return &generic.StoreOptions{RESTOptions: options, AttrFunc: attributes}
}

// subresource reads and updates an object by another strategy, such as its status.
type subresource struct {
	store *genericregistry.Store
	reset rest.ResetFieldsStrategy
}

func newSubresource(of *genericregistry.Store, update rest.RESTUpdateStrategy) *subresource {
	changed := *of
	changed.UpdateStrategy = update
	changed.CreateStrategy = nil
	changed.BeginUpdate = nil
	reset, _ := update.(rest.ResetFieldsStrategy)
	changed.ResetFieldsStrategy = reset
	return &subresource{store: &changed, reset: reset}
}

func (s *subresource) New() runtime.Object { return s.store.New() }

// Destroy does nothing: the store of the objects owns the storage.
func (s *subresource) Destroy() {}

func (s *subresource) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return s.store.Get(ctx, name, options)
}

func (s *subresource) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return s.store.Update(ctx, name, info, create, update, false, options)
}

func (s *subresource) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.reset.GetResetFields()
}

func (s *subresource) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return s.store.ConvertToTable(ctx, object, options)
}
