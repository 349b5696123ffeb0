package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/union"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
)

// rbacAuthorizer decides by the Roles and bindings in the cluster.
type rbacAuthorizer struct {
	roles               rbaclisters.RoleLister
	roleBindings        rbaclisters.RoleBindingLister
	clusterRoles        rbaclisters.ClusterRoleLister
	clusterRoleBindings rbaclisters.ClusterRoleBindingLister
}

func newAuthorizer(rbac *rbacAuthorizer) (authorizer.Authorizer, error) {
	return union.New(
		union.NamedAuthorizer{AuthorizerName: "SystemMasters", Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)},
		union.NamedAuthorizer{AuthorizerName: "RBAC", Authorizer: authorizer.AuthorizerFunc(rbac.Authorize)},
	)
}

func (a *rbacAuthorizer) Authorize(_ context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	allowed := false
	var reason string
	err := a.visit(attributes.GetUser(), attributes.GetNamespace(), func(source string, rule rbacv1.PolicyRule) bool {
		if allows(rule, attributes) {
			allowed, reason = true, "RBAC: allowed by "+source
		}
		return !allowed
	})
	if allowed {
		return authorizer.DecisionAllow, reason, nil
	}
	if err != nil {
		reason = "RBAC: " + err.Error()
	}
	return authorizer.DecisionNoOpinion, reason, nil
}

// visit calls next with every rule for a user, until it returns false. The error names roles that do not exist.
func (a *rbacAuthorizer) visit(who user.Info, namespace string, next func(source string, rule rbacv1.PolicyRule) bool) error {
	var missing []string
	clusterRoleBindings, err := a.clusterRoleBindings.List(everything)
	if err != nil {
		return err
	}
	for _, binding := range clusterRoleBindings {
		if !appliesTo(binding.Subjects, who, "") {
			continue
		}
		rules, err := a.rules(binding.RoleRef, "")
		if err != nil {
			missing = append(missing, err.Error())
		}
		for _, rule := range rules {
			if !next(fmt.Sprintf("ClusterRoleBinding %q", binding.Name), rule) {
				return nil
			}
		}
	}
	if namespace != "" {
		roleBindings, err := a.roleBindings.RoleBindings(namespace).List(everything)
		if err != nil {
			return err
		}
		for _, binding := range roleBindings {
			if !appliesTo(binding.Subjects, who, namespace) {
				continue
			}
			rules, err := a.rules(binding.RoleRef, namespace)
			if err != nil {
				missing = append(missing, err.Error())
			}
			for _, rule := range rules {
				if !next(fmt.Sprintf("RoleBinding %q", namespace+"/"+binding.Name), rule) {
					return nil
				}
			}
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s", strings.Join(missing, ", "))
	}
	return nil
}

func (a *rbacAuthorizer) rules(ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	switch ref.Kind {
	case "ClusterRole":
		role, err := a.clusterRoles.Get(ref.Name)
		if err != nil {
			return nil, roleError("clusterrole", ref.Name, err)
		}
		return a.aggregated(role), nil
	case "Role":
		role, err := a.roles.Roles(namespace).Get(ref.Name)
		if err != nil {
			return nil, roleError("role", ref.Name, err)
		}
		return role.Rules, nil
	default:
		return nil, fmt.Errorf("unsupported role reference kind %q", ref.Kind)
	}
}

func roleError(kind, name string, err error) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%s.rbac.authorization.k8s.io %q not found", kind, name)
	}
	return err
}

// aggregated adds the rules of the roles that an aggregation rule selects.
func (a *rbacAuthorizer) aggregated(role *rbacv1.ClusterRole) []rbacv1.PolicyRule {
	if role.AggregationRule == nil {
		return role.Rules
	}
	rules := slices.Clone(role.Rules)
	for _, labelSelector := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := asSelector(&labelSelector)
		if err != nil {
			continue
		}
		selected, _ := a.clusterRoles.List(selector)
		for _, other := range selected {
			if other.Name != role.Name && other.AggregationRule == nil {
				rules = append(rules, other.Rules...)
			}
		}
	}
	return rules
}

func appliesTo(subjects []rbacv1.Subject, who user.Info, namespace string) bool {
	return slices.ContainsFunc(subjects, func(subject rbacv1.Subject) bool {
		switch subject.Kind {
		case rbacv1.UserKind:
			return who.GetName() == subject.Name
		case rbacv1.GroupKind:
			return slices.Contains(who.GetGroups(), subject.Name)
		case rbacv1.ServiceAccountKind:
			in := subject.Namespace
			if in == "" {
				in = namespace
			}
			return in != "" && serviceaccount.MatchesUsername(in, subject.Name, who.GetName())
		default:
			return false
		}
	})
}

func allows(rule rbacv1.PolicyRule, attributes authorizer.Attributes) bool {
	if !matches(rule.Verbs, attributes.GetVerb()) {
		return false
	}
	if !attributes.IsResourceRequest() {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool {
			prefix, wildcard := strings.CutSuffix(url, "*")
			return url == attributes.GetPath() || wildcard && strings.HasPrefix(attributes.GetPath(), prefix)
		})
	}
	if !matches(rule.APIGroups, attributes.GetAPIGroup()) {
		return false
	}
	if len(rule.ResourceNames) > 0 && !slices.Contains(rule.ResourceNames, attributes.GetName()) {
		return false
	}
	resource := attributes.GetResource()
	if subresource := attributes.GetSubresource(); subresource != "" {
		return matches(rule.Resources, resource+"/"+subresource) || slices.Contains(rule.Resources, "*/"+subresource)
	}
	return matches(rule.Resources, resource)
}

func matches(values []string, value string) bool {
	return slices.Contains(values, value) || slices.Contains(values, "*")
}

// RulesFor lists the rules for a user in a namespace.
func (a *rbacAuthorizer) RulesFor(_ context.Context, who user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	var resources []authorizer.ResourceRuleInfo
	var urls []authorizer.NonResourceRuleInfo
	err := a.visit(who, namespace, func(_ string, rule rbacv1.PolicyRule) bool {
		if len(rule.Resources) > 0 {
			resources = append(resources, &authorizer.DefaultResourceRuleInfo{
				Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
			})
		}
		if len(rule.NonResourceURLs) > 0 && namespace != corev1.NamespaceAll {
			urls = append(urls, &authorizer.DefaultNonResourceRuleInfo{Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs})
		}
		return true
	})
	if slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup) {
		all, allURLs, _, _ := authorizerfactory.NewAlwaysAllowAuthorizer().RulesFor(context.Background(), who, namespace)
		resources, urls = append(resources, all...), append(urls, allURLs...)
	}
	return resources, urls, err != nil, err
}
