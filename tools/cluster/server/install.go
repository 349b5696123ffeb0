package main

import (
	"maps"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// install serves the built-in resources, by group.
func (s *server) install(stored []*resource, config *genericapiserver.RecommendedConfig, rules authorizer.RuleResolver) error {
	groups := map[schema.GroupVersion]map[string]rest.Storage{
		authenticationv1.SchemeGroupVersion: authenticationReviews(config.Authentication.Authenticator, config.Authentication.APIAudiences),
		authorizationv1.SchemeGroupVersion:  authorizationReviews(config.Authorization.Authorizer, rules),
	}
	for _, r := range stored {
		if groups[r.GroupVersion] == nil {
			groups[r.GroupVersion] = map[string]rest.Storage{}
		}
		if err := s.addStorage(groups[r.GroupVersion], r, config); err != nil {
			return err
		}
	}
	core := groups[corev1.SchemeGroupVersion]
	s.bindTokens(core)
	pods, nodes := core["pods"].(rest.Getter), core["nodes"].(rest.Getter)
	for _, subresource := range []string{"exec", "attach"} {
		core["pods/"+subresource] = &programREST{pods: pods, nodes: nodes, subresource: subresource}
	}
	core["pods/portforward"] = &portForwardREST{pods: pods, nodes: nodes}
	core["pods/log"] = &logREST{pods: pods, nodes: nodes}
	core["pods/proxy"] = podProxy(pods)
	core["services/proxy"] = serviceProxy(core["services"].(rest.Getter), groups[discoveryv1.SchemeGroupVersion]["endpointslices"].(rest.Lister))
	codecs := newCodecs(s.scheme)
	versions := map[string][]schema.GroupVersion{}
	for version := range groups {
		versions[version.Group] = append(versions[version.Group], version)
	}
	for _, group := range slices.Sorted(maps.Keys(versions)) {
		info := genericapiserver.NewDefaultAPIGroupInfo(group, s.scheme, runtime.NewParameterCodec(s.scheme), codecs)
		info.PrioritizedVersions = s.prioritized(versions[group])
		for _, version := range versions[group] {
			info.VersionedResourcesStorageMap[version.Version] = groups[version]
		}
		var err error
		if group == "" {
			err = s.generic.InstallLegacyAPIGroup(genericapiserver.DefaultLegacyAPIPrefix, &info)
		} else {
			err = s.generic.InstallAPIGroup(&info)
		}
		if err != nil {
			return err
		}
	}
	mux := s.generic.Handler.NonGoRestfulMux
	mux.Handle("/.well-known/openid-configuration", s.issuer.serveDiscovery("https://"+s.listener.Addr().String()+"/openid/v1/jwks"))
	mux.HandleFunc("/openid/v1/jwks", s.issuer.serveKeys)
	return nil
}

// prioritized orders served versions as the scheme does: stable ones first.
func (s *server) prioritized(served []schema.GroupVersion) []schema.GroupVersion {
	return slices.DeleteFunc(clientgoscheme.Scheme.PrioritizedVersionsForGroup(served[0].Group), func(version schema.GroupVersion) bool {
		return !slices.Contains(served, version)
	})
}

// addStorage adds a resource with its subresources, and the behavior that is particular to its kind.
func (s *server) addStorage(group map[string]rest.Storage, r *resource, config *genericapiserver.RecommendedConfig) error {
	strategy := newStrategy(s.scheme, r)
	particular(strategy)
	created, err := newStore(s.scheme, r, strategy, config.RESTOptionsGetter)
	if err != nil {
		return err
	}
	group[r.plural] = created
	if r.status {
		group[r.plural+"/status"] = newSubresource(created.Store, statusStrategy{strategy})
	}
	switch r.plural {
	case "namespaces":
		created.ShouldDeleteDuringUpdate = isFinalized
		group[r.plural] = &namespaceStore{created}
		group[r.plural+"/finalize"] = newSubresource(created.Store, finalizeStrategy{strategy})
	case "pods":
		created.DeleteStrategy = podDeleteStrategy{strategy}
		group[r.plural+"/ephemeralcontainers"] = newSubresource(created.Store, ephemeralContainersStrategy{strategy})
	case "deployments", "replicasets", "statefulsets":
		group[r.plural+"/scale"] = &scaleREST{created}
	case "services":
		newServiceAllocator().install(created.Store)
	case "certificatesigningrequests":
		group[r.plural+"/status"] = newSubresource(created.Store, signingStatusStrategy{statusStrategy{strategy}})
		group[r.plural+"/approval"] = newSubresource(created.Store, approvalStrategy{statusStrategy{strategy}})
	case "events":
		created.TTLFunc = func(runtime.Object, uint64, bool) (uint64, error) { return 3600, nil }
	case "serviceaccounts":
		group[r.plural+"/token"] = &tokenREST{s.issuer}
	}
	return nil
}

func particular(s *strategy) {
	switch s.resource.plural {
	case "namespaces":
		s.prepare, s.prepareUpdate = prepareNamespace, keepFinalizers
	case "pods":
		s.prepare, s.prepareUpdate, s.validate = preparePod, keepEphemeralContainers, validatePod
	case "services":
		s.prepareUpdate, s.validate = keepClusterIP, validateService
	case "secrets":
		s.validate = validateSecret
	case "configmaps":
		s.validate = validateConfigMap
	case "certificatesigningrequests":
		s.prepare, s.prepareUpdate, s.validate = prepareSigningRequest, keepSpec, validateSigningRequest
	}
}

// bindTokens gives the issuer the stores of the objects that tokens are bound to.
func (s *server) bindTokens(core map[string]rest.Storage) {
	getter := func(plural string) rest.Getter { return core[plural].(rest.Getter) }
	s.issuer.serviceAccounts, s.issuer.pods = getter("serviceaccounts"), getter("pods")
	s.issuer.secrets, s.issuer.nodes = getter("secrets"), getter("nodes")
}
