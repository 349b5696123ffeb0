package main

import (
	"context"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/utils/ptr"
)

var everything = labels.Everything()

func asSelector(selector *metav1.LabelSelector) (labels.Selector, error) {
	return metav1.LabelSelectorAsSelector(selector)
}

// addHooks creates the objects that every cluster has, and starts the controllers.
func (s *server) addHooks() error {
	namespaces, secretTokens := s.newNamespaceController(), s.newSecretTokenController()
	return s.generic.AddPostStartHook("bootstrap", func(hook genericapiserver.PostStartHookContext) error {
		if err := s.createObjects(hook.Context); err != nil {
			return err
		}
		go namespaces.run(hook.Context)
		go secretTokens.run(hook.Context)
		return nil
	})
}

func (s *server) createObjects(ctx context.Context) error {
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := s.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); failed(err) {
			return err
		}
	}
	for _, role := range clusterRoles() {
		if _, err := s.client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); failed(err) {
			return err
		}
	}
	for _, binding := range clusterRoleBindings() {
		if _, err := s.client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); failed(err) {
			return err
		}
	}
	return s.createService(ctx)
}

func failed(err error) bool { return err != nil && !apierrors.IsAlreadyExists(err) }

// createService creates the Service of the API server itself.
func (s *server) createService(ctx context.Context) error {
	host, text, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil {
		return err
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Name: "kubernetes", Labels: map[string]string{"component": "apiserver", "provider": "kubernetes"}}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		ClusterIP: "10.96.0.1",
		Ports:     []corev1.ServicePort{{Name: "https", Port: 443, TargetPort: intstr.FromInt32(int32(port))}},
	}}
	if _, err := s.client.CoreV1().Services(metav1.NamespaceDefault).Create(ctx, service, metav1.CreateOptions{}); failed(err) {
		return err
	}
	meta.Labels = map[string]string{discoveryv1.LabelServiceName: "kubernetes"}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  meta,
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{host}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}}},
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("https"), Port: ptr.To(int32(port)), Protocol: ptr.To(corev1.ProtocolTCP)}},
	}
	_, err = s.client.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).Create(ctx, slice, metav1.CreateOptions{})
	if failed(err) {
		return err
	}
	return nil
}

func clusterRoles() []*rbacv1.ClusterRole {
	rule := func(verbs, groups, resources []string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: verbs, APIGroups: groups, Resources: resources}
	}
	role := func(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
		labels := map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Rules: rules}
	}
	all, read := []string{"*"}, []string{"get", "list", "watch"}
	urls := func(urls ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: urls}
	}
	health := []string{"/healthz", "/livez", "/readyz", "/version", "/version/"}
	return []*rbacv1.ClusterRole{
		role("cluster-admin", rule(all, all, all), rbacv1.PolicyRule{Verbs: all, NonResourceURLs: all}),
		role("view", rule(read, []string{"", "apps", "autoscaling", "batch", "discovery.k8s.io", "networking.k8s.io", "policy"}, all)),
		role("system:discovery", urls(append([]string{"/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"}, health...)...)),
		role("system:public-info-viewer", urls(health...)),
		role("system:basic-user",
			rule([]string{"create"}, []string{"authorization.k8s.io"}, []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"}),
			rule([]string{"create"}, []string{"authentication.k8s.io"}, []string{"selfsubjectreviews"})),
		role("system:auth-delegator",
			rule([]string{"create"}, []string{"authentication.k8s.io"}, []string{"tokenreviews"}),
			rule([]string{"create"}, []string{"authorization.k8s.io"}, []string{"subjectaccessreviews"})),
		role("system:service-account-issuer-discovery", urls("/.well-known/openid-configuration", "/openid/v1/jwks")),
	}
}

func clusterRoleBindings() []*rbacv1.ClusterRoleBinding {
	bind := func(name string, groups ...string) *rbacv1.ClusterRoleBinding {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		}
		for _, group := range groups {
			binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group})
		}
		return binding
	}
	return []*rbacv1.ClusterRoleBinding{
		bind("cluster-admin", "system:masters"),
		bind("system:discovery", "system:authenticated"),
		bind("system:basic-user", "system:authenticated"),
		bind("system:public-info-viewer", "system:authenticated", "system:unauthenticated"),
		bind("system:service-account-issuer-discovery", "system:serviceaccounts"),
	}
}
