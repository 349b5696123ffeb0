package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// prepareSigningRequest records who sent the request, which the sender cannot choose.
func prepareSigningRequest(ctx context.Context, obj runtime.Object) {
	csr := obj.(*certificatesv1.CertificateSigningRequest)
	csr.Spec.Username, csr.Spec.UID, csr.Spec.Groups, csr.Spec.Extra = "", "", nil, nil
	who, ok := request.UserFrom(ctx)
	if !ok {
		return
	}
	csr.Spec.Username, csr.Spec.UID, csr.Spec.Groups = who.GetName(), who.GetUID(), who.GetGroups()
	for key, values := range who.GetExtra() {
		if csr.Spec.Extra == nil {
			csr.Spec.Extra = map[string]certificatesv1.ExtraValue{}
		}
		csr.Spec.Extra[key] = values
	}
}

// keepSpec makes the specification immutable.
func keepSpec(obj, old runtime.Object) { copyField(obj, old, "Spec") }

func validateSigningRequest(obj, _ runtime.Object) field.ErrorList {
	csr := obj.(*certificatesv1.CertificateSigningRequest)
	path := field.NewPath("spec")
	var errs field.ErrorList
	if block, _ := pem.Decode(csr.Spec.Request); block == nil || block.Type != "CERTIFICATE REQUEST" {
		errs = append(errs, field.Invalid(path.Child("request"), csr.Spec.Request, "PEM block type must be CERTIFICATE REQUEST"))
	} else if parsed, err := x509.ParseCertificateRequest(block.Bytes); err != nil {
		errs = append(errs, field.Invalid(path.Child("request"), csr.Spec.Request, err.Error()))
	} else if err := parsed.CheckSignature(); err != nil {
		errs = append(errs, field.Invalid(path.Child("request"), csr.Spec.Request, err.Error()))
	}
	if csr.Spec.SignerName == "" {
		errs = append(errs, field.Required(path.Child("signerName"), ""))
	}
	if len(csr.Spec.Usages) == 0 {
		errs = append(errs, field.Required(path.Child("usages"), ""))
	}
	if seconds := csr.Spec.ExpirationSeconds; seconds != nil && *seconds < 600 {
		errs = append(errs, field.Invalid(path.Child("expirationSeconds"), *seconds, "may not specify a duration less than 600 seconds (10 minutes)"))
	}
	return errs
}

// signingStatusStrategy changes the certificate and other conditions than those of approval.
type signingStatusStrategy struct{ statusStrategy }

func (s signingStatusStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	s.statusStrategy.PrepareForUpdate(ctx, obj, old)
	csr, previous := obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest)
	csr.Status.Conditions = append(approvals(previous.Status.Conditions, true), approvals(csr.Status.Conditions, false)...)
	completeConditions(csr.Status.Conditions)
}

// approvalStrategy changes the conditions and nothing else.
type approvalStrategy struct{ statusStrategy }

func (s approvalStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	s.statusStrategy.PrepareForUpdate(ctx, obj, old)
	csr, previous := obj.(*certificatesv1.CertificateSigningRequest), old.(*certificatesv1.CertificateSigningRequest)
	csr.Status.Certificate = previous.Status.Certificate
	completeConditions(csr.Status.Conditions)
}

func (approvalStrategy) ValidateUpdate(_ context.Context, obj, _ runtime.Object) field.ErrorList {
	types := map[certificatesv1.RequestConditionType]bool{}
	path := field.NewPath("status", "conditions")
	for _, condition := range obj.(*certificatesv1.CertificateSigningRequest).Status.Conditions {
		types[condition.Type] = true
	}
	if types[certificatesv1.CertificateApproved] && types[certificatesv1.CertificateDenied] {
		return field.ErrorList{field.Invalid(path, certificatesv1.CertificateDenied, "Approved and Denied conditions are mutually exclusive")}
	}
	return nil
}

func approvals(conditions []certificatesv1.CertificateSigningRequestCondition, wanted bool) []certificatesv1.CertificateSigningRequestCondition {
	var result []certificatesv1.CertificateSigningRequestCondition
	for _, condition := range conditions {
		if (condition.Type == certificatesv1.CertificateApproved || condition.Type == certificatesv1.CertificateDenied) == wanted {
			result = append(result, condition)
		}
	}
	return result
}

func completeConditions(conditions []certificatesv1.CertificateSigningRequestCondition) {
	for i := range conditions {
		setEmpty(&conditions[i].Status, corev1.ConditionTrue)
		if conditions[i].LastTransitionTime.IsZero() {
			conditions[i].LastTransitionTime = metav1.Now()
		}
		if conditions[i].LastUpdateTime.IsZero() {
			conditions[i].LastUpdateTime = metav1.Now()
		}
	}
}
