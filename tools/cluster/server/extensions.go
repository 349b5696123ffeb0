package main

import (
	"slices"

	apiextensionshelpers "k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	crdopenapi "k8s.io/apiextensions-apiserver/pkg/controller/openapi"
	crdopenapiv3 "k8s.io/apiextensions-apiserver/pkg/controller/openapiv3"
	generatedextensions "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kube-openapi/pkg/common"

	"istiod.local/tools/cluster/server/gen"
)

// addOpenAPI describes all types: server-side apply needs it, and discovery by clients.
func addOpenAPI(config *genericapiserver.Config, _ *runtime.Scheme) {
	namer := openapinamer.NewDefinitionNamer(clientgoscheme.Scheme, apiextensions.Scheme)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, namer)
	config.OpenAPIConfig.Info.Title = "Kubernetes"
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, namer)
	config.OpenAPIV3Config.Info.Title = "Kubernetes"
}

func definitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	all := generatedextensions.GetOpenAPIDefinitions(ref)
	for name, definition := range gen.GetOpenAPIDefinitions(ref) {
		all[name] = definition
	}
	return all
}

// publishExtensions makes the front server describe custom resources and their definitions. In a real cluster the
// aggregator does.
func (s *server) publishExtensions(crds *apiextensions.CustomResourceDefinitions) {
	informer := crds.Informers.Apiextensions().V1().CustomResourceDefinitions()
	s.generic.AddPostStartHookOrDie("custom-resource-openapi", func(hook genericapiserver.PostStartHookContext) error {
		go crdopenapi.NewController(informer).Run(s.generic.StaticOpenAPISpec, s.generic.OpenAPIVersionedService, hook.Done())
		go crdopenapiv3.NewController(informer).Run(s.generic.OpenAPIV3VersionedService, hook.Done())
		return nil
	})
	definitions := apiextensionsv1.SchemeGroupVersion
	s.generic.DiscoveryGroupManager.AddGroup(discoveredGroup(definitions.Group, map[string]bool{definitions.Version: true}))
	lister := informer.Lister()
	publish := func(obj any) {
		if definition, ok := definitionOf(obj); ok {
			all, _ := lister.List(labels.Everything())
			s.publishGroup(definition.Spec.Group, all)
		}
	}
	_, _ = informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    publish,
		UpdateFunc: func(_, obj any) { publish(obj) },
		DeleteFunc: publish,
	})
}

func definitionOf(obj any) (*apiextensionsv1.CustomResourceDefinition, bool) {
	if deleted, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = deleted.Obj
	}
	definition, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
	return definition, ok
}

// publishGroup adds a group of established definitions to the list of groups, or removes it.
func (s *server) publishGroup(group string, definitions []*apiextensionsv1.CustomResourceDefinition) {
	served := map[string]bool{}
	for _, definition := range definitions {
		if definition.Spec.Group != group || !apiextensionshelpers.IsCRDConditionTrue(definition, apiextensionsv1.Established) {
			continue
		}
		for _, candidate := range definition.Spec.Versions {
			if candidate.Served {
				served[candidate.Name] = true
			}
		}
	}
	if len(served) == 0 {
		s.generic.DiscoveryGroupManager.RemoveGroup(group)
		return
	}
	s.generic.DiscoveryGroupManager.AddGroup(discoveredGroup(group, served))
}

func discoveredGroup(group string, served map[string]bool) metav1.APIGroup {
	var versions []metav1.GroupVersionForDiscovery
	for name := range served {
		versions = append(versions, metav1.GroupVersionForDiscovery{GroupVersion: group + "/" + name, Version: name})
	}
	slices.SortFunc(versions, func(a, b metav1.GroupVersionForDiscovery) int {
		return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
	})
	return metav1.APIGroup{Name: group, Versions: versions, PreferredVersion: versions[0]}
}
