package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/generic"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
)

// history is what the server still knows about the past. Every storage of the server shares one.
type history struct {
	// compacted is the oldest revision that can be read.
	compacted atomic.Int64

	mu       sync.Mutex
	storages map[*compactable]struct{}
	watches  map[*expirableWatch]struct{}
}

func newHistory() *history {
	return &history{storages: map[*compactable]struct{}{}, watches: map[*expirableWatch]struct{}{}}
}

// compact answers 410 for all revisions before the given one, which etcd must have compacted. It returns when no
// cache answers with an older revision.
func (h *history) compact(ctx context.Context, revision int64) error {
	h.mu.Lock()
	h.compacted.Store(revision)
	storages := make([]*compactable, 0, len(h.storages))
	for s := range h.storages {
		storages = append(storages, s)
	}
	h.mu.Unlock()
	errs := make(chan error, len(storages))
	for _, s := range storages {
		go func() { errs <- s.refresh(ctx) }()
	}
	for range storages {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

// expireWatches ends all watches by an event of type ERROR.
func (h *history) expireWatches() int {
	h.mu.Lock()
	watches := make([]*expirableWatch, 0, len(h.watches))
	for w := range h.watches {
		watches = append(watches, w)
	}
	h.mu.Unlock()
	for _, w := range watches {
		close(w.expired)
		<-w.done
	}
	return len(watches)
}

// decorator builds storages that this history can compact.
func (h *history) decorator() generic.StorageDecorator {
	return func(
		config *storagebackend.ConfigForResource, prefix string, keyFunc func(runtime.Object) (string, error),
		newFunc, newListFunc func() runtime.Object, attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		raw, destroyRaw, err := generic.NewRawStorage(config, newFunc, newListFunc, prefix)
		if err != nil {
			return nil, nil, err
		}
		cached, err := cacher.NewCacherFromConfig(cacher.Config{
			Storage:             raw,
			Versioner:           storage.APIObjectVersioner{},
			GroupResource:       config.GroupResource,
			EventsHistoryWindow: config.EventsHistoryWindow,
			ResourcePrefix:      prefix,
			KeyFunc:             keyFunc,
			NewFunc:             newFunc,
			NewListFunc:         newListFunc,
			GetAttrsFunc:        attributes,
			IndexerFuncs:        triggers,
			Indexers:            indexers,
			Codec:               config.Codec,
		})
		if err != nil {
			destroyRaw()
			return nil, nil, err
		}
		delegator := cacher.NewCacheDelegator(cached, raw)
		s := &compactable{Interface: delegator, raw: raw, history: h, prefix: prefix, newList: newListFunc}
		h.mu.Lock()
		h.storages[s] = struct{}{}
		h.mu.Unlock()
		var once sync.Once
		return s, func() {
			once.Do(func() {
				h.mu.Lock()
				delete(h.storages, s)
				h.mu.Unlock()
				delegator.Stop()
				cached.Stop()
				destroyRaw()
			})
		}, nil
	}
}

// compactable is a storage with a watch cache. The cache keeps its history when etcd is compacted, so requests for
// older revisions are answered by etcd instead.
type compactable struct {
	storage.Interface
	raw     storage.Interface
	history *history
	prefix  string
	newList func() runtime.Object
}

// refresh waits until the cache knows the current revision.
func (s *compactable) refresh(ctx context.Context) error {
	predicate := storage.Everything
	predicate.Limit = 1
	err := s.Interface.GetList(ctx, s.prefix+"/", storage.ListOptions{Predicate: predicate, Recursive: true}, s.newList())
	if apierrors.IsTooManyRequests(err) {
		return nil // A cache that is not initialized yet has no history.
	}
	return err
}

func (s *compactable) isCompacted(resourceVersion string) bool {
	revision, err := strconv.ParseInt(resourceVersion, 10, 64)
	return err == nil && revision > 0 && revision < s.history.compacted.Load()
}

func (s *compactable) GetList(ctx context.Context, key string, options storage.ListOptions, list runtime.Object) error {
	if options.ResourceVersionMatch == metav1.ResourceVersionMatchExact && s.isCompacted(options.ResourceVersion) {
		return s.raw.GetList(ctx, key, options, list)
	}
	if options.Predicate.Continue != "" {
		prefix := key
		if _, revision, err := storage.DecodeContinue(options.Predicate.Continue, prefix); err == nil && revision > 0 && revision < s.history.compacted.Load() {
			return s.raw.GetList(ctx, key, options, list)
		}
	}
	return s.Interface.GetList(ctx, key, options, list)
}

func (s *compactable) Watch(ctx context.Context, key string, options storage.ListOptions) (watch.Interface, error) {
	if s.isCompacted(options.ResourceVersion) {
		message := fmt.Sprintf("too old resource version: %s (%d)", options.ResourceVersion, s.history.compacted.Load())
		return newFailedWatch(message), nil
	}
	inner, err := s.Interface.Watch(ctx, key, options)
	if err != nil {
		return nil, err
	}
	return s.history.expirable(inner), nil
}

// expirableWatch forwards the events of a watch until it expires.
type expirableWatch struct {
	inner   watch.Interface
	history *history
	result  chan watch.Event
	expired chan struct{}
	stopped chan struct{}
	done    chan struct{}
	once    sync.Once
}

func (h *history) expirable(inner watch.Interface) watch.Interface {
	w := &expirableWatch{inner: inner, history: h, result: make(chan watch.Event), expired: make(chan struct{}), stopped: make(chan struct{}), done: make(chan struct{})}
	h.mu.Lock()
	h.watches[w] = struct{}{}
	h.mu.Unlock()
	go w.forward()
	return w
}

func (w *expirableWatch) ResultChan() <-chan watch.Event { return w.result }

func (w *expirableWatch) Stop() { w.once.Do(func() { close(w.stopped) }) }

func (w *expirableWatch) forward() {
	defer close(w.done)
	defer close(w.result)
	defer w.inner.Stop()
	defer func() {
		w.history.mu.Lock()
		delete(w.history.watches, w)
		w.history.mu.Unlock()
	}()
	for {
		select {
		case event, ok := <-w.inner.ResultChan():
			if !ok || !w.send(event) {
				return
			}
		case <-w.expired:
			w.send(expiredEvent("The resourceVersion for the provided watch is too old."))
			return
		case <-w.stopped:
			return
		}
	}
}

func (w *expirableWatch) send(event watch.Event) bool {
	select {
	case w.result <- event:
		return true
	case <-w.stopped:
		return false
	}
}

func expiredEvent(message string) watch.Event {
	status := apierrors.NewResourceExpired(message).Status()
	return watch.Event{Type: watch.Error, Object: &status}
}

// newFailedWatch returns a watch whose only event is that its version expired. After authorization, errors of watches
// are events rather than answers.
func newFailedWatch(message string) watch.Interface {
	events := make(chan watch.Event, 1)
	events <- expiredEvent(message)
	close(events)
	return watch.NewProxyWatcher(events)
}

// restOptions configures the storage of built-in resources.
type restOptions struct {
	scheme  *runtime.Scheme
	codecs  runtime.StorageSerializer
	config  storagebackend.Config
	history *history
	// versions are the storage versions of groups.
	versions map[schema.GroupResource]schema.GroupVersion
}

func (o *restOptions) GetRESTOptions(resource schema.GroupResource, _ runtime.Object) (generic.RESTOptions, error) {
	version, ok := o.versions[resource]
	if !ok {
		return generic.RESTOptions{}, fmt.Errorf("no storage version of %s", resource)
	}
	config := o.config
	codec, versioner, err := serverstorage.NewStorageCodec(serverstorage.StorageCodecConfig{
		StorageMediaType:  runtime.ContentTypeProtobuf,
		StorageSerializer: o.codecs,
		StorageVersion:    version,
		MemoryVersion:     schema.GroupVersion{Group: resource.Group, Version: runtime.APIVersionInternal},
		Config:            config,
	})
	if err != nil {
		return generic.RESTOptions{}, err
	}
	config.Codec = untypedCodec{codec}
	config.EncodeVersioner = versioner
	prefix := resource.Resource
	if resource.Group != "" {
		prefix = resource.Group + "/" + resource.Resource
	}
	return generic.RESTOptions{
		StorageConfig:           config.ForResource(resource),
		Decorator:               o.history.decorator(),
		DeleteCollectionWorkers: 1,
		EnableGarbageCollection: true,
		ResourcePrefix:          prefix,
	}, nil
}

// untypedCodec clears apiVersion and kind of decoded objects, as decoding into internal types does. Otherwise every
// item of a list carries them.
type untypedCodec struct{ runtime.Codec }

func (c untypedCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, kind, err := c.Codec.Decode(data, defaults, into)
	if obj != nil {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return obj, kind, err
}

// crdOptions makes the storage of custom resources part of a history.
type crdOptions struct {
	generic.RESTOptionsGetter
	history *history
}

func (o crdOptions) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := o.RESTOptionsGetter.GetRESTOptions(resource, example)
	options.Decorator = o.history.decorator()
	return options, err
}
