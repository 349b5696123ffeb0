package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/golang-jwt/jwt/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// secretTokenIssuer is the issuer of the tokens in Secrets. They have no expiration: they end with their Secret.
const secretTokenIssuer = "kubernetes/serviceaccount"

type secretTokenClaims struct {
	jwt.RegisteredClaims
	Namespace      string    `json:"kubernetes.io/serviceaccount/namespace"`
	Secret         string    `json:"kubernetes.io/serviceaccount/secret.name"`
	ServiceAccount string    `json:"kubernetes.io/serviceaccount/service-account.name"`
	UID            types.UID `json:"kubernetes.io/serviceaccount/service-account.uid"`
}

func (t *tokenIssuer) issueForSecret(account *corev1.ServiceAccount, secret string) (string, error) {
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, secretTokenClaims{
		RegisteredClaims: jwt.RegisteredClaims{Issuer: secretTokenIssuer, Subject: serviceaccount.MakeUsername(account.Namespace, account.Name)},
		Namespace:        account.Namespace, Secret: secret, ServiceAccount: account.Name, UID: account.UID,
	})
	token.Header["kid"] = t.keyID
	return token.SignedString(t.key)
}

// authenticateSecretToken accepts a token that is still in its Secret, for the API server only.
func (t *tokenIssuer) authenticateSecretToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	claims := secretTokenClaims{}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}))
	if _, err := parser.ParseWithClaims(token, &claims, t.publicKey); err != nil {
		return nil, false, fmt.Errorf("invalid service account token: %w", err)
	}
	wanted, ok := authenticator.AudiencesFrom(ctx)
	audiences := authenticator.Audiences{t.issuer}
	if ok && len(audiences.Intersect(wanted)) == 0 {
		return nil, false, fmt.Errorf("token audiences %q is invalid for the target audiences %q", audiences, wanted)
	}
	ctx = request.WithNamespace(ctx, claims.Namespace)
	found, err := t.secrets.Get(ctx, claims.Secret, &metav1.GetOptions{})
	if err != nil || string(found.(*corev1.Secret).Data[corev1.ServiceAccountTokenKey]) != token {
		return nil, false, fmt.Errorf("service account token of secret %s/%s has been invalidated", claims.Namespace, claims.Secret)
	}
	account := reference{Name: claims.ServiceAccount, UID: claims.UID}
	if err := checkExists(ctx, t.serviceAccounts, "service account", claims.Namespace, account); err != nil {
		return nil, false, err
	}
	info := serviceaccount.ServiceAccountInfo{Namespace: claims.Namespace, Name: claims.ServiceAccount, UID: string(claims.UID)}
	return &authenticator.Response{Audiences: audiences, User: info.UserInfo()}, true, nil
}

// secretTokenController fills Secrets of the type service-account-token, and deletes them with their service account.
type secretTokenController struct {
	*server
	queue  workqueue.TypedRateLimitingInterface[types.NamespacedName]
	synced []cache.InformerSynced
}

func (s *server) newSecretTokenController() *secretTokenController {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](50*time.Millisecond, time.Second)
	c := &secretTokenController{server: s, queue: workqueue.NewTypedRateLimitingQueue(limiter)}
	core := s.informers.Core().V1()
	secrets, accounts := core.Secrets(), core.ServiceAccounts()
	enqueue := func(obj any) {
		if secret, ok := obj.(*corev1.Secret); ok && secret.Type == corev1.SecretTypeServiceAccountToken {
			c.queue.Add(types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name})
		}
	}
	_, _ = secrets.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) }})
	enqueueOf := func(obj any) {
		if deleted, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = deleted.Obj
		}
		if account, ok := obj.(*corev1.ServiceAccount); ok {
			found, _ := secrets.Lister().Secrets(account.Namespace).List(everything)
			for _, secret := range found {
				if secret.Annotations[corev1.ServiceAccountNameKey] == account.Name {
					enqueue(secret)
				}
			}
		}
	}
	_, _ = accounts.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: enqueueOf, DeleteFunc: enqueueOf})
	c.synced = []cache.InformerSynced{secrets.Informer().HasSynced, accounts.Informer().HasSynced}
	return c
}

func (c *secretTokenController) run(ctx context.Context) {
	runQueue(ctx, c.queue, c.synced, func(name types.NamespacedName) bool {
		err := c.sync(ctx, name)
		if err != nil {
			klog.V(2).InfoS("token of secret is not up to date", "secret", name, "err", err)
		}
		return err == nil
	})
}

func (c *secretTokenController) sync(ctx context.Context, name types.NamespacedName) error {
	secrets := c.client.CoreV1().Secrets(name.Namespace)
	secret, err := secrets.Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	account, err := c.client.CoreV1().ServiceAccounts(name.Namespace).Get(ctx, secret.Annotations[corev1.ServiceAccountNameKey], metav1.GetOptions{})
	uid := secret.Annotations[corev1.ServiceAccountUIDKey]
	if apierrors.IsNotFound(err) || err == nil && uid != "" && uid != string(account.UID) {
		return ignoreNotFound(secrets.Delete(ctx, name.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(secret.UID))}))
	}
	if err != nil {
		return err
	}
	changed := secret.DeepCopy()
	if changed.Data == nil {
		changed.Data = map[string][]byte{}
	}
	changed.Annotations[corev1.ServiceAccountUIDKey] = string(account.UID)
	changed.Data[corev1.ServiceAccountRootCAKey] = c.ca.pem
	if len(changed.Data[corev1.ServiceAccountNamespaceKey]) == 0 {
		changed.Data[corev1.ServiceAccountNamespaceKey] = []byte(name.Namespace)
	}
	if len(changed.Data[corev1.ServiceAccountTokenKey]) == 0 {
		token, err := c.issuer.issueForSecret(account, name.Name)
		if err != nil {
			return err
		}
		changed.Data[corev1.ServiceAccountTokenKey] = []byte(token)
	}
	if maps.Equal(changed.Annotations, secret.Annotations) && maps.EqualFunc(changed.Data, secret.Data, func(a, b []byte) bool { return string(a) == string(b) }) {
		return nil
	}
	_, err = secrets.Update(ctx, changed, metav1.UpdateOptions{})
	return ignoreNotFound(err)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// runQueue calls sync with the items of a queue until the context is done, and again later if it returns false.
func runQueue[T comparable](ctx context.Context, queue workqueue.TypedRateLimitingInterface[T], synced []cache.InformerSynced, sync func(T) bool) {
	go func() {
		<-ctx.Done()
		queue.ShutDown()
	}()
	cache.WaitForCacheSync(ctx.Done(), synced...)
	for {
		item, shutdown := queue.Get()
		if shutdown {
			return
		}
		if sync(item) {
			queue.Forget(item)
		} else {
			queue.AddRateLimited(item)
		}
		queue.Done(item)
	}
}
