package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

const (
	minExpiration     = 10 * time.Minute
	maxExpiration     = 1 << 32
	defaultExpiration = time.Hour
)

// tokenIssuer issues and checks tokens of service accounts.
type tokenIssuer struct {
	issuer string
	key    *rsa.PrivateKey
	keyID  string
	now    func() time.Time
	// getters read the objects that tokens are bound to.
	serviceAccounts, pods, secrets, nodes rest.Getter
}

type reference struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid,omitempty"`
}

type kubernetesClaims struct {
	Namespace      string     `json:"namespace"`
	ServiceAccount reference  `json:"serviceaccount"`
	Pod            *reference `json:"pod,omitempty"`
	Secret         *reference `json:"secret,omitempty"`
	Node           *reference `json:"node,omitempty"`
}

type tokenClaims struct {
	jwt.RegisteredClaims
	Kubernetes kubernetesClaims `json:"kubernetes.io"`
}

func newTokenIssuer(issuer string, now func() time.Time) (*tokenIssuer, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(public)
	return &tokenIssuer{issuer: issuer, key: key, keyID: base64.RawURLEncoding.EncodeToString(digest[:]), now: now}, nil
}

func (t *tokenIssuer) issue(account *corev1.ServiceAccount, bound kubernetesClaims, audiences []string, expiration time.Duration) (string, time.Time, error) {
	now := t.now()
	bound.Namespace = account.Namespace
	bound.ServiceAccount = reference{Name: account.Name, UID: account.UID}
	expires := now.Add(expiration)
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, tokenClaims{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer:    t.issuer,
			Subject:   serviceaccount.MakeUsername(account.Namespace, account.Name),
			Audience:  audiences,
			ExpiresAt: jwt.NewNumericDate(expires),
			IssuedAt:  jwt.NewNumericDate(now),
			NotBefore: jwt.NewNumericDate(now),
			ID:        uuid.NewString(),
		},
		Kubernetes: bound,
	})
	token.Header["kid"] = t.keyID
	signed, err := token.SignedString(t.key)
	return signed, expires, err
}

// AuthenticateToken accepts tokens of this issuer whose service account, and bound object, still exists.
func (t *tokenIssuer) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	claims := tokenClaims{}
	if unverified, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil || unverified == nil {
		return nil, false, nil
	}
	switch claims.Issuer {
	case t.issuer:
	case secretTokenIssuer:
		return t.authenticateSecretToken(ctx, token)
	default:
		return nil, false, nil
	}
	claims = tokenClaims{}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}), jwt.WithTimeFunc(t.now), jwt.WithExpirationRequired())
	if _, err := parser.ParseWithClaims(token, &claims, t.publicKey); err != nil {
		return nil, false, fmt.Errorf("invalid service account token: %w", err)
	}
	wanted, ok := authenticator.AudiencesFrom(ctx)
	if !ok {
		wanted = authenticator.Audiences{t.issuer}
	}
	audiences := authenticator.Audiences(claims.Audience).Intersect(wanted)
	if len(audiences) == 0 {
		return nil, false, fmt.Errorf("token audiences %q is invalid for the target audiences %q", claims.Audience, wanted)
	}
	if err := t.checkObjects(ctx, claims.Kubernetes); err != nil {
		return nil, false, err
	}
	info := serviceaccount.ServiceAccountInfo{
		Namespace: claims.Kubernetes.Namespace, Name: claims.Kubernetes.ServiceAccount.Name,
		UID: string(claims.Kubernetes.ServiceAccount.UID), CredentialID: "JTI=" + claims.ID,
	}
	if pod := claims.Kubernetes.Pod; pod != nil {
		info.PodName, info.PodUID = pod.Name, string(pod.UID)
	}
	if node := claims.Kubernetes.Node; node != nil {
		info.NodeName, info.NodeUID = node.Name, string(node.UID)
	}
	return &authenticator.Response{Audiences: audiences, User: info.UserInfo()}, true, nil
}

func (t *tokenIssuer) publicKey(*jwt.Token) (any, error) { return &t.key.PublicKey, nil }

func (t *tokenIssuer) checkObjects(ctx context.Context, claims kubernetesClaims) error {
	ctx = request.WithNamespace(ctx, claims.Namespace)
	if err := checkExists(ctx, t.serviceAccounts, "service account", claims.Namespace, claims.ServiceAccount); err != nil {
		return err
	}
	if claims.Pod != nil {
		return checkExists(ctx, t.pods, "pod", claims.Namespace, *claims.Pod)
	}
	if claims.Secret != nil {
		return checkExists(ctx, t.secrets, "secret", claims.Namespace, *claims.Secret)
	}
	return nil
}

func checkExists(ctx context.Context, getter rest.Getter, kind, namespace string, expected reference) error {
	found, err := getter.Get(ctx, expected.Name, &metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return fmt.Errorf("%s %s/%s of the token cannot be read: %w", kind, namespace, expected.Name, err)
	}
	if accessor(found).GetUID() != expected.UID {
		return fmt.Errorf("%s %s/%s of the token was deleted and recreated", kind, namespace, expected.Name)
	}
	return nil
}

// tokenREST serves the token subresource of service accounts.
type tokenREST struct{ issuer *tokenIssuer }

func (*tokenREST) New() runtime.Object { return &authenticationv1.TokenRequest{} }
func (*tokenREST) Destroy()            {}
func (*tokenREST) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return authenticationv1.SchemeGroupVersion.WithKind("TokenRequest")
}

func (r *tokenREST) Create(ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, _ *metav1.CreateOptions) (runtime.Object, error) {
	wanted := obj.(*authenticationv1.TokenRequest)
	found, err := r.issuer.serviceAccounts.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	account := found.(*corev1.ServiceAccount)
	if wanted.Name == "" {
		wanted.Name = name
	}
	wanted.Namespace = account.Namespace
	if validate != nil {
		if err := validate(ctx, obj.DeepCopyObject()); err != nil {
			return nil, err
		}
	}
	expiration := defaultExpiration
	if seconds := wanted.Spec.ExpirationSeconds; seconds != nil {
		expiration = time.Duration(*seconds) * time.Second
		path := field.NewPath("spec", "expirationSeconds")
		if expiration < minExpiration || *seconds > maxExpiration {
			return nil, apierrors.NewInvalid(schema.GroupKind{Group: authenticationv1.GroupName, Kind: "TokenRequest"}, name, field.ErrorList{
				field.Invalid(path, *seconds, "may not specify a duration less than 10 minutes, or larger than 1<<32 seconds"),
			})
		}
	} else {
		wanted.Spec.ExpirationSeconds = new(int64(defaultExpiration / time.Second))
	}
	if len(wanted.Spec.Audiences) == 0 {
		wanted.Spec.Audiences = []string{r.issuer.issuer}
	}
	bound, err := r.bind(ctx, name, wanted.Spec.BoundObjectRef)
	if err != nil {
		return nil, err
	}
	token, expires, err := r.issuer.issue(account, bound, wanted.Spec.Audiences, expiration)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	wanted.Status = authenticationv1.TokenRequestStatus{Token: token, ExpirationTimestamp: metav1.NewTime(expires)}
	wanted.CreationTimestamp = metav1.NewTime(r.issuer.now())
	return wanted, nil
}

// bind returns the claims of the object that a token of a service account is bound to.
func (r *tokenREST) bind(ctx context.Context, account string, to *authenticationv1.BoundObjectReference) (kubernetesClaims, error) {
	claims := kubernetesClaims{}
	if to == nil {
		return claims, nil
	}
	var getter rest.Getter
	switch kind := schema.FromAPIVersionAndKind(to.APIVersion, to.Kind); kind {
	case corev1.SchemeGroupVersion.WithKind("Pod"):
		getter = r.issuer.pods
	case corev1.SchemeGroupVersion.WithKind("Secret"):
		getter = r.issuer.secrets
	default:
		return claims, apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s", kind))
	}
	found, err := getter.Get(ctx, to.Name, &metav1.GetOptions{})
	if err != nil {
		return claims, err
	}
	bound := &reference{Name: to.Name, UID: accessor(found).GetUID()}
	if to.UID != "" && to.UID != bound.UID {
		return claims, apierrors.NewConflict(schema.GroupResource{Resource: to.Kind}, to.Name, fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", to.UID))
	}
	if pod, ok := found.(*corev1.Pod); ok {
		if pod.Spec.ServiceAccountName != account {
			return claims, apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", account))
		}
		claims.Pod = bound
		if pod.Spec.NodeName != "" {
			claims.Node = r.node(ctx, pod.Spec.NodeName)
		}
	} else {
		claims.Secret = bound
	}
	return claims, nil
}

// node refers to a pod's node, without UID if the node does not exist, as real servers do.
func (r *tokenREST) node(ctx context.Context, name string) *reference {
	node := &reference{Name: name}
	if found, err := r.issuer.nodes.Get(request.WithNamespace(ctx, ""), name, &metav1.GetOptions{}); err == nil {
		node.UID = accessor(found).GetUID()
	}
	return node
}

// serveDiscovery answers the OpenID Connect discovery document.
func (t *tokenIssuer) serveDiscovery(jwksURL string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, "application/json", map[string]any{
			"issuer": t.issuer, "jwks_uri": jwksURL, "response_types_supported": []string{"id_token"},
			"subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"},
		})
	}
}

// serveKeys answers the JSON Web Key Set of the issuer.
func (t *tokenIssuer) serveKeys(w http.ResponseWriter, _ *http.Request) {
	exponent := big.NewInt(int64(t.key.PublicKey.E)).Bytes()
	writeJSON(w, "application/jwk-set+json", map[string]any{"keys": []any{map[string]string{
		"use": "sig", "kty": "RSA", "alg": "RS256", "kid": t.keyID,
		"n": base64.RawURLEncoding.EncodeToString(t.key.PublicKey.N.Bytes()),
		"e": base64.RawURLEncoding.EncodeToString(exponent),
	}}})
}

func writeJSON(w http.ResponseWriter, contentType string, value any) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "public, max-age=3600")
	_ = json.NewEncoder(w).Encode(value)
}
