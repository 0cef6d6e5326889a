package signing

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"gopkg.in/go-jose/go-jose.v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/util/keyutil"
)

// TokenKey is a key that service accounts' tokens are signed with.
type TokenKey struct{ signer jose.Signer }

// ParseTokenKey reads a private key in PEM: RSA, or ECDSA on a curve that a token has an algorithm for
// (pkg/serviceaccount/jwt.go).
func ParseTokenKey(text []byte) (*TokenKey, error) {
	key, err := keyutil.ParsePrivateKeyPEM(text)
	if err != nil {
		return nil, err
	}
	private, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a key of type %T can't sign", key)
	}
	algorithm, err := algorithmOf(key)
	if err != nil {
		return nil, err
	}

	public, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		return nil, fmt.Errorf("the public key: %w", err)
	}
	id := sha256.Sum256(public)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: &jose.JSONWebKey{
		Algorithm: string(algorithm), Key: key, KeyID: base64.RawURLEncoding.EncodeToString(id[:]), Use: "sig"}}, nil)
	if err != nil {
		return nil, err
	}
	return &TokenKey{signer}, nil
}

func algorithmOf(key any) (jose.SignatureAlgorithm, error) {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return jose.RS256, nil
	case *ecdsa.PrivateKey:
		switch k.Curve {
		case elliptic.P256():
			return jose.ES256, nil
		case elliptic.P384():
			return jose.ES384, nil
		case elliptic.P521():
			return jose.ES512, nil
		}
		return "", errors.New("unknown private key curve, must be 256, 384, or 521")
	}
	return "", fmt.Errorf("unknown private key type %T, must be RSA or ECDSA", key)
}

// Token makes the token of a service account's Secret, as the API server has both (pkg/serviceaccount/legacy.go). Of
// what it says nothing comes from anybody else: a Secret is signed for the account that it names, and only for that.
func (k *TokenKey) Token(account *corev1.ServiceAccount, secret *corev1.Secret) (string, error) {
	if err := checkTokenSecret(account, secret); err != nil {
		return "", err
	}
	claims, err := json.Marshal(map[string]string{
		"iss": "kubernetes/serviceaccount",
		"sub": serviceaccount.MakeUsername(account.Namespace, account.Name),

		"kubernetes.io/serviceaccount/namespace":            account.Namespace,
		"kubernetes.io/serviceaccount/service-account.name": account.Name,
		"kubernetes.io/serviceaccount/service-account.uid":  string(account.UID),
		"kubernetes.io/serviceaccount/secret.name":          secret.Name,
	})
	if err != nil {
		return "", err
	}
	signed, err := k.signer.Sign(claims)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

// checkTokenSecret reports why a Secret isn't one that a token of the account belongs into.
func checkTokenSecret(account *corev1.ServiceAccount, secret *corev1.Secret) error {
	named, uid := secret.Annotations[corev1.ServiceAccountNameKey], secret.Annotations[corev1.ServiceAccountUIDKey]
	switch {
	case secret.Type != corev1.SecretTypeServiceAccountToken:
		return fmt.Errorf("the secret is of type %q, not %s", secret.Type, corev1.SecretTypeServiceAccountToken)
	case secret.DeletionTimestamp != nil:
		return errors.New("the secret is being deleted")
	case secret.Namespace != account.Namespace:
		return fmt.Errorf("the secret is in namespace %q, the service account in %q", secret.Namespace, account.Namespace)
	case named != account.Name:
		return fmt.Errorf("the secret is for the service account %q, not %q", named, account.Name)
	case uid != "" && uid != string(account.UID):
		return fmt.Errorf("the secret is for the service account with UID %q, which is another one now", uid)
	case account.Name == "" || account.UID == "":
		return errors.New("the service account has no name or no UID")
	}
	return nil
}
