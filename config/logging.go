package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The formats of the log.
const (
	LogText = "text"
	LogJSON = "json"
)

// Logging says what is logged, and how. It has the names of kube-controller-manager's flags.
type Logging struct {
	// Format is "text", or "json": one object on each line, with kube-controller-manager's fields (ts in milliseconds,
	// caller, msg, v or err, and what the line is about). It is read at the start only. Default: text.
	Format string `json:"format"`
	// Verbosity is how much is logged: 0 what an operator should know, 2 what happens again and again, 4 each sync; errors
	// always. A change takes effect at once. Default: 0.
	Verbosity int32 `json:"verbosity"`
	// VModule sets other verbosities for single source files of the host, in the format text only. It is read at the start
	// only. Default: none.
	VModule []VModule `json:"vmodule"`
}

// VModule is the verbosity of some source files of the host.
type VModule struct {
	// FilePattern is a file's name without folder and ".go", with "*" and "?" for what may be anything. Required.
	FilePattern string `json:"filePattern"`
	// Verbosity is the verbosity of these files. Default: 0.
	Verbosity int32 `json:"verbosity"`
}

func (l *Logging) validate(p *field.Path) (errs field.ErrorList) {
	if l.Format != LogText && l.Format != LogJSON {
		errs = append(errs, field.NotSupported(p.Child("format"), l.Format, []string{LogText, LogJSON}))
	}
	if l.Verbosity < 0 {
		errs = append(errs, field.Invalid(p.Child("verbosity"), l.Verbosity, "must be at least 0"))
	}
	if len(l.VModule) > 0 && l.Format == LogJSON {
		errs = append(errs, field.Forbidden(p.Child("vmodule"),
			"works with the text format only: raise verbosity, or remove the field"))
	}
	for i, m := range l.VModule {
		p := p.Child("vmodule").Index(i)
		switch {
		case m.FilePattern == "":
			errs = append(errs, field.Required(p.Child("filePattern"), "name source files, such as worker or cache*"))
		case strings.ContainsAny(m.FilePattern, "=,"):
			errs = append(errs, field.Invalid(p.Child("filePattern"), m.FilePattern, "must have neither = nor a comma"))
		}
		if m.Verbosity < 0 {
			errs = append(errs, field.Invalid(p.Child("verbosity"), m.Verbosity, "must be at least 0"))
		}
	}
	return errs
}

// vmoduleFlag is klog's form of it: pattern=N,pattern=N.
type vmoduleFlag []VModule

var _ pflag.Value = (*vmoduleFlag)(nil)

// Type is pflag.Value's.
func (f *vmoduleFlag) Type() string { return "pattern=N,..." }

// String is pflag.Value's.
func (f *vmoduleFlag) String() string {
	var parts []string
	for _, m := range *f {
		parts = append(parts, fmt.Sprintf("%s=%d", m.FilePattern, m.Verbosity))
	}
	return strings.Join(parts, ",")
}

// Set is pflag.Value's.
func (f *vmoduleFlag) Set(s string) error {
	var all vmoduleFlag
	for part := range strings.SplitSeq(s, ",") {
		if part == "" {
			continue
		}
		pattern, n, ok := strings.Cut(part, "=")
		v, err := strconv.ParseInt(n, 10, 32)
		if !ok || err != nil {
			return fmt.Errorf("%q must be a source file's name and a verbosity, such as worker=4", part)
		}
		all = append(all, VModule{pattern, int32(v)})
	}
	*f = all
	return nil
}
