package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// accountTokenLifetime stands for that of tokens in Secrets, which do not expire.
const accountTokenLifetime = 10 * 365 * 24 * time.Hour

// accountTokenController writes the credentials of service accounts to their Secrets. A token is valid until its Secret
// or its service account is deleted.
type accountTokenController struct {
	*server
	queue  workqueue.TypedRateLimitingInterface[cache.ObjectName]
	synced cache.InformerSynced
}

func (s *server) newAccountTokenController() *accountTokenController {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](50*time.Millisecond, time.Second)
	c := &accountTokenController{server: s, queue: workqueue.NewTypedRateLimitingQueue(limiter)}
	informer := s.informers.Core().V1().Secrets().Informer()
	enqueue := func(obj any) {
		if secret, ok := obj.(*corev1.Secret); ok && lacksToken(secret) {
			c.queue.Add(cache.MetaObjectToName(secret))
		}
	}
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) },
	})
	c.synced = informer.HasSynced
	return c
}

func lacksToken(secret *corev1.Secret) bool {
	return secret.Type == corev1.SecretTypeServiceAccountToken && len(secret.Data[corev1.ServiceAccountTokenKey]) == 0
}

func (c *accountTokenController) run(ctx context.Context) {
	go func() {
		<-ctx.Done()
		c.queue.ShutDown()
	}()
	cache.WaitForCacheSync(ctx.Done(), c.synced)
	for {
		name, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		if err := c.sync(ctx, name); err != nil {
			klog.V(2).InfoS("Secret has no token yet", "name", name, "err", err)
			c.queue.AddRateLimited(name)
		} else {
			c.queue.Forget(name)
		}
		c.queue.Done(name)
	}
}

func (c *accountTokenController) sync(ctx context.Context, name cache.ObjectName) error {
	secrets := c.client.CoreV1().Secrets(name.Namespace)
	secret, err := secrets.Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || (err == nil && !lacksToken(secret)) {
		return nil
	}
	if err != nil {
		return err
	}
	accountName := secret.Annotations[corev1.ServiceAccountNameKey]
	account, err := c.client.CoreV1().ServiceAccounts(name.Namespace).Get(ctx, accountName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	bound := kubernetesClaims{Secret: &reference{Name: secret.Name, UID: secret.UID}}
	token, _, err := c.issuer.issue(account, bound, []string{c.issuer.issuer}, accountTokenLifetime)
	if err != nil {
		return err
	}
	secret.Annotations[corev1.ServiceAccountUIDKey] = string(account.UID)
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data[corev1.ServiceAccountTokenKey] = []byte(token)
	secret.Data[corev1.ServiceAccountRootCAKey] = c.ca.pem
	secret.Data[corev1.ServiceAccountNamespaceKey] = []byte(name.Namespace)
	_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{})
	return err
}
