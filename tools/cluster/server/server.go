package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	noopoteltrace "go.opentelemetry.io/otel/trace/noop"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	apiextensionsoptions "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/initializer"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/metadata"
)

// server is an API server with all that it consists of.
type server struct {
	config    configuration
	ca        *authority
	listener  *listener
	database  *database
	history   *history
	faults    *faults
	scheme    *runtime.Scheme
	issuer    *tokenIssuer
	resolver  webhook.ServiceResolver
	generic   *genericapiserver.GenericAPIServer
	client    kubernetes.Interface
	metadata  metadata.Interface
	informers informers.SharedInformerFactory
}

// configuration is given by flags.
type configuration struct {
	directory string
	address   string
	issuer    string
	tokens    staticTokens
}

func newServer(config configuration) (*server, error) {
	s := &server{config: config, history: newHistory()}
	var err error
	if s.ca, err = newAuthority(); err != nil {
		return nil, err
	}
	if s.listener, err = listen(config.address); err != nil {
		return nil, err
	}
	if s.database, err = startDatabase(config.directory); err != nil {
		return nil, err
	}
	stored := resources()
	s.scheme = newScheme(stored)
	codecs := newCodecs(s.scheme)
	s.faults = newFaults(s.listener, codecs)
	if s.issuer, err = newTokenIssuer(config.issuer, s.faults.now); err != nil {
		return nil, err
	}
	generic := genericapiserver.NewRecommendedConfig(codecs)
	rbac, err := s.configure(generic)
	if err != nil {
		return nil, err
	}
	crds, err := s.newExtensions(generic)
	if err != nil {
		return nil, fmt.Errorf("custom resources: %w", err)
	}
	if s.generic, err = generic.Complete().New("istiod-cluster", crds.GenericAPIServer); err != nil {
		return nil, err
	}
	if err := s.install(stored, generic, rbac); err != nil {
		return nil, err
	}
	s.publishExtensions(crds)
	return s, s.addHooks()
}

// configure sets up everything that built-in and custom resources share.
func (s *server) configure(config *genericapiserver.RecommendedConfig) (authorizer.RuleResolver, error) {
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	config.FeatureGate = utilfeature.DefaultFeatureGate
	config.LongRunningFunc = genericfilters.BasicLongRunningRequestCheck(sets.NewString("watch"), sets.NewString("attach", "exec", "log", "portforward"))
	config.MaxRequestsInFlight, config.MaxMutatingRequestsInFlight = 0, 0
	config.AggregatedDiscoveryGroupManager = aggregated.NewResourceManager("apis")
	config.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return s.faults.wrap(genericapiserver.DefaultBuildHandlerChain(handler, c))
	}
	clientCA, err := s.serveSecurely(config)
	if err != nil {
		return nil, err
	}
	if s.client, err = kubernetes.NewForConfig(config.LoopbackClientConfig); err != nil {
		return nil, err
	}
	if s.metadata, err = metadata.NewForConfig(config.LoopbackClientConfig); err != nil {
		return nil, err
	}
	s.informers = informers.NewSharedInformerFactory(s.client, 0)
	config.SharedInformerFactory = s.informers
	config.ClientConfig = config.LoopbackClientConfig
	audiences := authenticator.Audiences{s.issuer.issuer}
	config.Authentication.Authenticator = newAuthenticator(clientCA, s.config.tokens, s.issuer)
	config.Authentication.APIAudiences = audiences
	roles := s.informers.Rbac().V1()
	rbac := &rbacAuthorizer{
		roles: roles.Roles().Lister(), roleBindings: roles.RoleBindings().Lister(),
		clusterRoles: roles.ClusterRoles().Lister(), clusterRoleBindings: roles.ClusterRoleBindings().Lister(),
	}
	if config.Authorization.Authorizer, err = newAuthorizer(rbac); err != nil {
		return nil, err
	}
	config.RuleResolver = rbac
	addOpenAPI(&config.Config, s.scheme)
	return rbac, s.configureStorageAndAdmission(config)
}

func (s *server) serveSecurely(config *genericapiserver.RecommendedConfig) (dynamiccertificates.CAContentProvider, error) {
	pair, err := s.ca.issueServer()
	if err != nil {
		return nil, err
	}
	serving, err := dynamiccertificates.NewStaticCertKeyContent("serving", pair.certificate, pair.key)
	if err != nil {
		return nil, err
	}
	clientCA, err := dynamiccertificates.NewStaticCAContent("client-ca", s.ca.pem)
	if err != nil {
		return nil, err
	}
	secure := options.NewSecureServingOptions()
	secure.Listener = s.listener
	secure.ServerCert.GeneratedCert = serving
	if err := secure.WithLoopback().ApplyTo(&config.SecureServing, &config.LoopbackClientConfig); err != nil {
		return nil, err
	}
	config.SecureServing.ClientCA = clientCA
	config.LoopbackClientConfig.Dial = s.listener.dial
	return clientCA, nil
}

func (s *server) configureStorageAndAdmission(config *genericapiserver.RecommendedConfig) error {
	versions := map[schema.GroupResource]schema.GroupVersion{}
	for _, r := range resources() {
		versions[r.groupResource()] = r.GroupVersion
	}
	config.RESTOptionsGetter = &restOptions{
		scheme: s.scheme, codecs: newCodecs(s.scheme), config: s.storageConfig(), history: s.history, versions: versions,
	}
	slices, err := proxy.NewEndpointSliceIndexerGetter(s.informers.Discovery().V1().EndpointSlices())
	if err != nil {
		return err
	}
	s.resolver = serviceResolver{services: s.informers.Core().V1().Services().Lister(), slices: slices}
	dynamicClient, err := dynamic.NewForConfig(config.LoopbackClientConfig)
	if err != nil {
		return err
	}
	wrapper := webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, config.LoopbackClientConfig, noopoteltrace.NewTracerProvider())
	return options.NewAdmissionOptions().ApplyTo(&config.Config, s.informers, s.client, dynamicClient, utilfeature.DefaultFeatureGate,
		config.EffectiveVersion, initializer.NewPluginInitializer(wrapper, s.resolver))
}

func (s *server) storageConfig() storagebackend.Config {
	config := storagebackend.NewDefaultConfig("/registry", nil)
	config.Transport.ServerList = []string{s.database.endpoint}
	config.CompactionInterval = 0
	return *config
}

// serviceResolver finds the server of a webhook by the endpoints of its Service: there is no network of the cluster
// through which cluster IPs could be reached.
type serviceResolver struct {
	services corelisters.ServiceLister
	slices   proxy.EndpointSliceGetter
}

func (r serviceResolver) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	return proxy.ResolveEndpoint(r.services, r.slices, namespace, name, port)
}

// newExtensions builds the server of CustomResourceDefinitions and of their resources.
func (s *server) newExtensions(base *genericapiserver.RecommendedConfig) (*apiextensions.CustomResourceDefinitions, error) {
	config := *base
	config.PostStartHooks = map[string]genericapiserver.PostStartHookConfigEntry{}
	config.SkipOpenAPIInstallation = true
	config.MergedResourceConfig = apiextensions.DefaultAPIResourceConfigSource()
	etcd := options.NewEtcdOptions(new(s.storageConfig()))
	etcd.SkipHealthEndpoints = true
	etcd.StorageConfig.Codec = apiextensions.Codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion)
	etcd.StorageConfig.EncodeVersioner = runtime.NewMultiGroupVersioner(apiextensionsv1.SchemeGroupVersion, schema.GroupKind{Group: apiextensionsv1.GroupName})
	definitions := etcd.CreateRESTOptionsGetter(&options.SimpleStorageFactory{StorageConfig: etcd.StorageConfig}, nil)
	config.RESTOptionsGetter = crdOptions{definitions, s.history}
	custom := apiextensionsoptions.NewCRDRESTOptionsGetter(*etcd, nil, config.StorageObjectCountTracker)
	extensions := &apiextensions.Config{
		GenericConfig: &config,
		ExtraConfig: apiextensions.ExtraConfig{
			CRDRESTOptionsGetter: crdOptions{custom, s.history},
			MasterCount:          1,
			ServiceResolver:      s.resolver,
			AuthResolverWrapper:  webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, config.LoopbackClientConfig, noopoteltrace.NewTracerProvider()),
		},
	}
	return extensions.Complete().New(genericapiserver.NewEmptyDelegateWithCustomHandler(http.NotFoundHandler()))
}

// run serves until the context is done. Ready is called when requests can be served.
func (s *server) run(ctx context.Context, ready func() error) error {
	prepared := s.generic.PrepareRun()
	serving, stop := context.WithCancel(context.Background())
	defer stop()
	stopped, _, err := prepared.NonBlockingRunWithContext(serving, 2*time.Second)
	if err != nil {
		return err
	}
	if err := s.waitReady(ctx); err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	<-ctx.Done()
	stop()
	s.faults.clear()
	s.faults.drop("abort", requestFilter{})
	<-stopped
	return nil
}

func (s *server) waitReady(ctx context.Context) error {
	var last error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if last = s.client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return fmt.Errorf("the server is not ready after a minute: %w", last)
}
