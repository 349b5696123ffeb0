package main

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// namespaceController creates the service account default in new namespaces, and empties and finalizes deleted ones.
type namespaceController struct {
	*server
	queue  workqueue.TypedRateLimitingInterface[string]
	synced []cache.InformerSynced
}

func (s *server) newNamespaceController() *namespaceController {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, time.Second)
	c := &namespaceController{server: s, queue: workqueue.NewTypedRateLimitingQueue(limiter)}
	informer := s.informers.Core().V1().Namespaces().Informer()
	enqueue := func(obj any) {
		if namespace, ok := obj.(*corev1.Namespace); ok {
			c.queue.Add(namespace.Name)
		}
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) },
	})
	// The service account default is created again if it is deleted.
	accounts := s.informers.Core().V1().ServiceAccounts().Informer()
	_, _ = accounts.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
		if name, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			if namespace, account, _ := cache.SplitMetaNamespaceKey(name); account == "default" {
				c.queue.Add(namespace)
			}
		}
	}})
	c.synced = []cache.InformerSynced{informer.HasSynced, accounts.HasSynced}
	return c
}

func (c *namespaceController) run(ctx context.Context) {
	runQueue(ctx, c.queue, c.synced, func(name string) bool {
		done, err := c.sync(ctx, name)
		if err != nil || !done {
			klog.V(2).InfoS("namespace is not finished", "name", name, "err", err)
		}
		return err == nil && done
	})
}

func (c *namespaceController) sync(ctx context.Context, name string) (bool, error) {
	namespace, err := c.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, err
	case namespace.DeletionTimestamp != nil:
		return c.terminate(ctx, namespace)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	_, err = c.client.CoreV1().ServiceAccounts(name).Create(ctx, account, metav1.CreateOptions{})
	return !failed(err), nil
}

// terminate deletes all objects of a namespace, and its finalizer when none is left.
func (c *namespaceController) terminate(ctx context.Context, namespace *corev1.Namespace) (bool, error) {
	if !slices.Contains(namespace.Spec.Finalizers, corev1.FinalizerKubernetes) {
		return true, nil
	}
	lists, err := discovery.ServerPreferredNamespacedResources(c.client.Discovery())
	if err != nil {
		return false, err
	}
	left := 0
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return false, err
		}
		for _, found := range list.APIResources {
			count, err := c.empty(ctx, version.WithResource(found.Name), namespace.Name)
			if err != nil {
				return false, err
			}
			left += count
		}
	}
	if left > 0 {
		return false, nil
	}
	finalized := namespace.DeepCopy()
	finalized.Spec.Finalizers = slices.DeleteFunc(finalized.Spec.Finalizers, func(name corev1.FinalizerName) bool {
		return name == corev1.FinalizerKubernetes
	})
	_, err = c.client.CoreV1().Namespaces().Finalize(ctx, finalized, metav1.UpdateOptions{})
	return err == nil || apierrors.IsNotFound(err), err
}

// empty deletes the objects of a resource, and returns how many there were.
func (c *namespaceController) empty(ctx context.Context, resource schema.GroupVersionResource, namespace string) (int, error) {
	client := c.metadata.Resource(resource).Namespace(namespace)
	objects, err := client.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, object := range objects.Items {
		if err := client.Delete(ctx, object.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return 0, err
		}
	}
	return len(objects.Items), nil
}
