package signing

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cluster-bootstrap/token/api"
	"k8s.io/cluster-bootstrap/token/jws"
)

// Bootstrap makes the signature by which a node that joins knows that the cluster's information is from who gave it its
// bootstrap token: a detached JWS of the config map's kubeconfig. It returns the data's key that the signature is for,
// too (pkg/controller/bootstrap/bootstrapsigner.go).
func Bootstrap(info *corev1.ConfigMap, token *corev1.Secret, now time.Time) (key, signature string, _ error) {
	content, ok := info.Data[api.KubeConfigKey]
	if !ok || info.Namespace != metav1.NamespacePublic || info.Name != api.ConfigMapClusterInfo {
		return "", "", fmt.Errorf("only the %s of %s/%s is signed", api.KubeConfigKey, metav1.NamespacePublic,
			api.ConfigMapClusterInfo)
	}
	id, err := checkBootstrapToken(token, now)
	if err != nil {
		return "", "", err
	}
	signature, err = jws.ComputeDetachedSignature(content, id, string(token.Data[api.BootstrapTokenSecretKey]))
	return api.JWSSignatureKeyPrefix + id, signature, err
}

// checkBootstrapToken reports why nothing is signed with a token, or its ID. (k8s.io/cluster-bootstrap's util/secrets
// has the same, and half a dozen patterns that each process would compile as it starts.)
func checkBootstrapToken(token *corev1.Secret, now time.Time) (id string, _ error) {
	id = string(token.Data[api.BootstrapTokenIDKey])
	switch {
	case token.Namespace != metav1.NamespaceSystem || token.Type != api.SecretTypeBootstrapToken:
		return "", fmt.Errorf("the secret is no bootstrap token of %s", metav1.NamespaceSystem)
	case !isTokenID(id) || token.Name != api.BootstrapTokenSecretPrefix+id:
		return "", fmt.Errorf("the secret's name isn't %s with its %s", api.BootstrapTokenSecretPrefix,
			api.BootstrapTokenIDKey)
	case len(token.Data[api.BootstrapTokenSecretKey]) == 0:
		return "", fmt.Errorf("the secret has no %s", api.BootstrapTokenSecretKey)
	case hasExpired(string(token.Data[api.BootstrapTokenExpirationKey]), now):
		return "", errors.New("the token has expired")
	case string(token.Data[api.BootstrapTokenUsageSigningKey]) != "true":
		return "", errors.New("the token isn't for signing")
	}
	return id, nil
}

// isTokenID reports whether a text is what the ID of a token looks like.
func isTokenID(id string) bool {
	return len(id) == 6 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// hasExpired reports whether a token is over: not if it says nothing of that, and always if what it says is no time.
func hasExpired(expiration string, now time.Time) bool {
	if expiration == "" {
		return false
	}
	end, err := time.Parse(time.RFC3339, expiration)
	return err != nil || !now.Before(end)
}
