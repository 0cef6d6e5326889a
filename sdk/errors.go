package sdk

// Error is a failed effect.
type Error struct {
	// Reason is the API server's: NotFound, AlreadyExists, Conflict, Invalid, Forbidden, …, or one of the host's below.
	Reason  string
	Message string
}

func (e *Error) Error() string { return e.Message }

// Failed reports whether err is a failed effect with this reason.
func Failed(err error, reason string) bool {
	e, ok := err.(*Error)
	return ok && e.Reason == reason
}

// The reasons that controllers look for.
const (
	NotFound             = "NotFound"
	AlreadyExists        = "AlreadyExists"
	Conflict             = "Conflict"
	Invalid              = "Invalid"
	NamespaceTerminating = "NamespaceTerminating"
	UnknownTimeZone      = "UnknownTimeZone"
	// SignerValidationFailure is that a certificate request breaks a rule of its signer.
	SignerValidationFailure = "SignerValidationFailure"
	// NoSigningKey is that the operator has configured no key for the signer.
	NoSigningKey = "NoSigningKey"
)

type errorString string

func (e errorString) Error() string { return string(e) }

// Errors makes an error of its parts. An Errorf would need fmt.
func Errors(parts ...string) error {
	s := ""
	for _, p := range parts {
		s += p
	}
	return errorString(s)
}
