package main

import (
	"context"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
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

func authenticationReviews(authenticate authenticator.Request, audiences authenticator.Audiences) map[string]rest.Storage {
	return map[string]rest.Storage{
		"tokenreviews": &review[authenticationv1.TokenReview]{singular: "tokenreview", answer: func(ctx context.Context, review *authenticationv1.TokenReview) error {
			return reviewToken(ctx, authenticate, audiences, review)
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

// reviewToken authenticates a token as the server authenticates requests, so that users have the same groups.
func reviewToken(ctx context.Context, authenticate authenticator.Request, defaults authenticator.Audiences, review *authenticationv1.TokenReview) error {
	if review.Spec.Token == "" {
		return apierrors.NewBadRequest("token is required for TokenReview in authentication")
	}
	audiences := authenticator.Audiences(review.Spec.Audiences)
	if len(audiences) == 0 {
		audiences = defaults
	}
	reviewed := (&http.Request{Header: http.Header{"Authorization": []string{"Bearer " + review.Spec.Token}}}).
		WithContext(authenticator.WithAudiences(ctx, audiences))
	response, ok, err := authenticate.AuthenticateRequest(reviewed)
	review.Status = authenticationv1.TokenReviewStatus{Authenticated: ok}
	if err != nil {
		review.Status.Error = err.Error()
	}
	if ok {
		review.Status.Audiences, review.Status.User = response.Audiences, userInfo(response.User)
	}
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
				return apierrors.NewBadRequest("spec.resourceAttributes.namespace must match namespace: " + namespace)
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
	if errs := validateAccess(who, resource, url); len(errs) > 0 {
		return apierrors.NewInvalid(authorizationv1.SchemeGroupVersion.WithKind("SubjectAccessReview").GroupKind(), "", errs)
	}
	attributes := authorizer.AttributesRecord{User: who}
	if resource != nil {
		attributes.ResourceRequest = true
		attributes.Verb, attributes.Namespace, attributes.Name = resource.Verb, resource.Namespace, resource.Name
		attributes.APIGroup, attributes.APIVersion = resource.Group, resource.Version
		attributes.Resource, attributes.Subresource = resource.Resource, resource.Subresource
	} else {
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

func validateAccess(who user.Info, resource *authorizationv1.ResourceAttributes, url *authorizationv1.NonResourceAttributes) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	switch {
	case resource != nil && url != nil:
		errs = append(errs, field.Invalid(path.Child("nonResourceAttributes"), url, "cannot be specified in combination with resourceAttributes"))
	case resource == nil && url == nil:
		errs = append(errs, field.Invalid(path.Child("resourceAttributes"), nil, "exactly one of nonResourceAttributes or resourceAttributes must be specified"))
	}
	if who == nil || who.GetName() == "" && len(who.GetGroups()) == 0 {
		errs = append(errs, field.Invalid(path.Child("user"), "", "at least one of user or group must be specified"))
	}
	return errs
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
