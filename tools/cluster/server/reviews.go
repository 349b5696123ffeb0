package main

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

// review is a resource that can only be created, and that is the answer of a question.
type review[T any] struct {
	namespaced bool
	singular   string
	answer     func(ctx context.Context, review *T) error
}

func (r *review[T]) New() runtime.Object     { return any(new(T)).(runtime.Object) }
func (r *review[T]) Destroy()                {}
func (r *review[T]) NamespaceScoped() bool   { return r.namespaced }
func (r *review[T]) GetSingularName() string { return r.singular }

func (r *review[T]) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	if validate != nil {
		if err := validate(ctx, obj.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	return obj, r.answer(ctx, any(obj).(*T))
}

func authenticationReviews(tokens authenticator.Token, audiences authenticator.Audiences) map[string]rest.Storage {
	return map[string]rest.Storage{
		"tokenreviews": &review[authenticationv1.TokenReview]{singular: "tokenreview", answer: func(ctx context.Context, review *authenticationv1.TokenReview) error {
			return reviewToken(ctx, tokens, audiences, review)
		}},
		"selfsubjectreviews": &review[authenticationv1.SelfSubjectReview]{singular: "selfsubjectreview", answer: func(ctx context.Context, review *authenticationv1.SelfSubjectReview) error {
			who, ok := request.UserFrom(ctx)
			if !ok {
				return apierrors.NewBadRequest("no user in the request")
			}
			review.Status.UserInfo = userInfo(who)
			return nil
		}},
	}
}

func reviewToken(ctx context.Context, tokens authenticator.Token, defaults authenticator.Audiences, review *authenticationv1.TokenReview) error {
	if review.Spec.Token == "" {
		return apierrors.NewBadRequest("token is required for TokenReview in authentication")
	}
	audiences := authenticator.Audiences(review.Spec.Audiences)
	if len(audiences) == 0 {
		audiences = defaults
	}
	response, ok, err := tokens.AuthenticateToken(authenticator.WithAudiences(ctx, audiences), review.Spec.Token)
	review.Status = authenticationv1.TokenReviewStatus{Authenticated: ok}
	if err != nil {
		review.Status.Error = err.Error()
	}
	if !ok {
		return nil
	}
	if len(review.Spec.Audiences) > 0 {
		review.Status.Audiences = response.Audiences
	} else {
		review.Status.Audiences = defaults
	}
	review.Status.User = userInfo(response.User)
	return nil
}

func userInfo(who user.Info) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups()}
	for key, values := range who.GetExtra() {
		if info.Extra == nil {
			info.Extra = map[string]authenticationv1.ExtraValue{}
		}
		info.Extra[key] = values
	}
	return info
}

func authorizationReviews(decide authorizer.Authorizer, rules authorizer.RuleResolver) map[string]rest.Storage {
	return map[string]rest.Storage{
		"subjectaccessreviews": &review[authorizationv1.SubjectAccessReview]{singular: "subjectaccessreview", answer: func(ctx context.Context, review *authorizationv1.SubjectAccessReview) error {
			return reviewAccess(ctx, decide, specUser(review.Spec), review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes, &review.Status)
		}},
		"localsubjectaccessreviews": &review[authorizationv1.LocalSubjectAccessReview]{namespaced: true, singular: "localsubjectaccessreview", answer: func(ctx context.Context, review *authorizationv1.LocalSubjectAccessReview) error {
			namespace := request.NamespaceValue(ctx)
			if attributes := review.Spec.ResourceAttributes; attributes == nil || attributes.Namespace != namespace {
				return apierrors.NewBadRequest("spec.resourceAttributes.namespace must be the namespace of the request, " + namespace)
			}
			return reviewAccess(ctx, decide, specUser(review.Spec), review.Spec.ResourceAttributes, nil, &review.Status)
		}},
		"selfsubjectaccessreviews": &review[authorizationv1.SelfSubjectAccessReview]{singular: "selfsubjectaccessreview", answer: func(ctx context.Context, review *authorizationv1.SelfSubjectAccessReview) error {
			who, _ := request.UserFrom(ctx)
			return reviewAccess(ctx, decide, who, review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes, &review.Status)
		}},
		"selfsubjectrulesreviews": &review[authorizationv1.SelfSubjectRulesReview]{singular: "selfsubjectrulesreview", answer: func(ctx context.Context, review *authorizationv1.SelfSubjectRulesReview) error {
			return reviewRules(ctx, rules, review)
		}},
	}
}

func specUser(spec authorizationv1.SubjectAccessReviewSpec) user.Info {
	extra := map[string][]string{}
	for key, values := range spec.Extra {
		extra[key] = values
	}
	return &user.DefaultInfo{Name: spec.User, Groups: spec.Groups, UID: spec.UID, Extra: extra}
}

func reviewAccess(
	ctx context.Context, decide authorizer.Authorizer, who user.Info, resource *authorizationv1.ResourceAttributes,
	url *authorizationv1.NonResourceAttributes, status *authorizationv1.SubjectAccessReviewStatus,
) error {
	if who == nil || who.GetName() == "" && len(who.GetGroups()) == 0 {
		return apierrors.NewBadRequest("at least one of user or group must be specified")
	}
	attributes := authorizer.AttributesRecord{User: who}
	switch {
	case (resource == nil) == (url == nil):
		return apierrors.NewBadRequest("exactly one of nonResourceAttributes or resourceAttributes must be specified")
	case resource != nil:
		attributes.ResourceRequest = true
		attributes.Verb, attributes.Namespace, attributes.Name = resource.Verb, resource.Namespace, resource.Name
		attributes.APIGroup, attributes.APIVersion = resource.Group, resource.Version
		attributes.Resource, attributes.Subresource = resource.Resource, resource.Subresource
	default:
		attributes.Verb, attributes.Path = url.Verb, url.Path
	}
	decision, reason, err := decide.Authorize(ctx, attributes)
	*status = authorizationv1.SubjectAccessReviewStatus{
		Allowed: decision == authorizer.DecisionAllow, Denied: decision == authorizer.DecisionDeny, Reason: reason,
	}
	if err != nil {
		status.EvaluationError = err.Error()
	}
	return nil
}

func reviewRules(ctx context.Context, rules authorizer.RuleResolver, review *authorizationv1.SelfSubjectRulesReview) error {
	who, ok := request.UserFrom(ctx)
	if !ok || review.Spec.Namespace == "" {
		return apierrors.NewBadRequest("no user in the request, or no namespace in the review")
	}
	resources, urls, incomplete, err := rules.RulesFor(ctx, who, review.Spec.Namespace)
	status := authorizationv1.SubjectRulesReviewStatus{
		ResourceRules: []authorizationv1.ResourceRule{}, NonResourceRules: []authorizationv1.NonResourceRule{}, Incomplete: incomplete,
	}
	if err != nil {
		status.EvaluationError = err.Error()
	}
	for _, rule := range resources {
		status.ResourceRules = append(status.ResourceRules, authorizationv1.ResourceRule{
			Verbs: rule.GetVerbs(), APIGroups: rule.GetAPIGroups(), Resources: rule.GetResources(), ResourceNames: rule.GetResourceNames(),
		})
	}
	for _, rule := range urls {
		status.NonResourceRules = append(status.NonResourceRules, authorizationv1.NonResourceRule{Verbs: rule.GetVerbs(), NonResourceURLs: rule.GetNonResourceURLs()})
	}
	review.Status = status
	return nil
}
