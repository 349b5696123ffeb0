package main

import (
	"context"
	"crypto/subtle"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// staticTokens are bearer tokens that never expire.
type staticTokens map[string]*user.DefaultInfo

func (t staticTokens) AuthenticateToken(_ context.Context, token string) (*authenticator.Response, bool, error) {
	for known, info := range t {
		if subtle.ConstantTimeCompare([]byte(known), []byte(token)) == 1 {
			return &authenticator.Response{User: info}, true, nil
		}
	}
	return nil, false, nil
}

// newAuthenticator authenticates client certificates, static tokens and tokens of service accounts. Requests without
// credentials are anonymous, and requests with wrong credentials fail. Static tokens are for the API server only.
func newAuthenticator(clientCA dynamiccertificates.CAContentProvider, static staticTokens, issuer *tokenIssuer) authenticator.Request {
	tokens := tokenunion.New(authenticator.WrapAudienceAgnosticToken(authenticator.Audiences{issuer.issuer}, static), issuer)
	credentials := union.New(
		x509request.NewDynamic(clientCA.VerifyOptions, x509request.CommonNameUserConversion),
		bearertoken.New(tokens),
	)
	return union.NewFailOnError(group.NewAuthenticatedGroupAdder(credentials), anonymous.NewAuthenticator(nil))
}
