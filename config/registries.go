package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The bounds of registries.timeout.
const (
	registryTimeoutMin = time.Second
	registryTimeoutMax = 10 * time.Minute
)

var (
	hostPattern = `([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?`
	registry    = regexp.MustCompile(`^` + hostPattern + `$`)
	// The registry refuses what is no repository; that a digest is there is for host/plugins/oci to say, which can tell
	// it.
	imageReference = regexp.MustCompile(`^` + hostPattern +
		`/[a-z0-9][a-z0-9._/-]*(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$`)
)

func (r *Registries) validate(p *field.Path) (errs field.ErrorList) {
	if d := r.Timeout.Duration; d < registryTimeoutMin || d > registryTimeoutMax {
		errs = append(errs, field.Invalid(p.Child("timeout"), d.String(), "must be from 1s to 10m"))
	}
	for i, host := range r.PlainHTTP {
		if !registry.MatchString(host) {
			errs = append(errs, field.Invalid(p.Child("plainHTTP").Index(i), host,
				`must be a registry as images name it, such as "127.0.0.1:5000"`))
		}
	}
	for name, file := range map[string]string{"credentialsFile": r.CredentialsFile, "caFile": r.CAFile} {
		if e := mustBeFile(p.Child(name), file); e != nil && file != "" {
			errs = append(errs, e)
		}
	}
	if info, err := os.Stat(r.CacheFolder); r.CacheFolder != "" && err == nil && !info.IsDir() {
		errs = append(errs, field.Invalid(p.Child("cacheFolder"), r.CacheFolder, "is a file: name a folder for modules"))
	}
	return append(errs, mustBeFiles(p.Child("verificationKeys"), r.VerificationKeys)...)
}

// ShadowImage is the OCI reference of the plugin's shadow, empty for one that is built in or a file.
func (c *Plugin) ShadowImage() string {
	if strings.Contains(c.Shadow, "@sha256:") {
		return c.Shadow
	}
	return ""
}

func (c *Plugin) validateImage(p *field.Path) (errs field.ErrorList) {
	if c.Image != "" && !imageReference.MatchString(c.Image) {
		what := "must be registry/repository@sha256:... with the registry's name, such as " +
			"registry.example/plugins/replicaset@sha256:..."
		if before, after, ok := strings.Cut(c.Image, "@"); ok && imageReference.MatchString(before) {
			what = fmt.Sprintf("the digest %q must be sha256: and 64 digits in lower case", after)
		}
		errs = append(errs, field.Invalid(p.Child("image"), c.Image, what))
	}
	if c.ShadowImage() != "" && !imageReference.MatchString(c.Shadow) {
		errs = append(errs, field.Invalid(p.Child("shadow"), c.Shadow,
			`must be "builtin:NAME", a file's path, or registry/repository@sha256:... with the registry's name and 64 digits in lower case`))
	}
	if len(c.VerificationKeys) > 0 && c.Image == "" && c.ShadowImage() == "" {
		errs = append(errs, field.Invalid(p.Child("verificationKeys"), strings.Join(c.VerificationKeys, ", "),
			"needs image to be set: only modules from registries are verified by signatures"))
	}
	return append(errs, mustBeFiles(p.Child("verificationKeys"), c.VerificationKeys)...)
}

// validateFile checks the name of a plugin's file.
func (c *Plugin) validateFile(p *field.Path) (errs field.ErrorList) {
	if c.File == "" {
		return nil
	}
	if filepath.Base(c.File) != c.File || filepath.Ext(c.File) != ".wasm" || strings.HasPrefix(c.File, ".") {
		errs = append(errs, field.Invalid(p.Child("file"), c.File,
			"must be the name of a *.wasm file in pluginFolder, without a folder"))
	}
	if c.Image != "" {
		errs = append(errs, field.Invalid(p.Child("file"), c.File,
			"can't be set together with image, which says where the module is, too"))
	}
	return errs
}

func mustBeFiles(p *field.Path, files []string) (errs field.ErrorList) {
	for i, f := range files {
		if e := mustBeFile(p.Index(i), f); e != nil {
			errs = append(errs, e)
		}
	}
	return errs
}

func mustBeFile(p *field.Path, file string) *field.Error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return field.Invalid(p, file, err.Error()+": name a file that windlass can read")
	case !info.Mode().IsRegular():
		return field.Invalid(p, file, "is not a file")
	}
	return nil
}
