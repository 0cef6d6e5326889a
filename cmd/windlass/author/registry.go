package author

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/windlass-dev/windlass/config"
	"github.com/windlass-dev/windlass/host/plugins"
	"github.com/windlass-dev/windlass/host/plugins/oci"
	"github.com/windlass-dev/windlass/host/plugins/signature"
)

// reach are the flags that say how registries are reached.
type reach struct{ oci.Options }

func (r *reach) addFlags(f *pflag.FlagSet) {
	f.StringVar(&r.Credentials, "credentials-file", "",
		"docker config file with the registry's password (default: that of docker login, if it is there); credential helpers aren't run")
	f.StringVar(&r.CAFile, "ca-file", "", "CA certificates in PEM to trust besides the system's")
	f.StringSliceVar(&r.PlainHTTP, "plain-http", nil, "registries, as HOST:PORT, to talk to without TLS")
	f.DurationVar(&r.Timeout, "timeout", oci.DefaultTimeout, "how long each step may take")
}

func (r *reach) newClient() (*oci.Client, error) {
	o := r.Options
	if o.Credentials == "" {
		o.Credentials = dockerConfig()
	}
	if o.Timeout < time.Second {
		return nil, fmt.Errorf("--timeout %v: must be at least 1s", o.Timeout)
	}
	return oci.New(o)
}

// dockerConfig is where docker login leaves passwords, empty if there is nothing.
func dockerConfig() string {
	folder := os.Getenv("DOCKER_CONFIG")
	if home, err := os.UserHomeDir(); folder == "" && err == nil {
		folder = filepath.Join(home, ".docker")
	}
	file := filepath.Join(folder, "config.json")
	if _, err := os.Stat(file); folder == "" || err != nil {
		return ""
	}
	return file
}

// openImage returns the client and the reference that an argument names.
func (r *reach) openImage(image string) (*oci.Client, oci.Reference, error) {
	ref, err := oci.Parse(image)
	if err != nil {
		return nil, ref, err
	}
	c, err := r.newClient()
	return c, ref, err
}

// changeImage does something to the image that an argument names, and prints the reference that comes of it.
func (r *reach) changeImage(cmd *cobra.Command, image string,
	f func(*oci.Client, oci.Reference) (oci.Reference, error)) error {
	c, ref, err := r.openImage(image)
	if err != nil {
		return err
	}
	defer c.Close()
	if ref, err = f(c, ref); err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), ref)
	return err
}

// findPlugin returns the module that "builtin:NAME", a path or an image with its digest names.
func (r *reach) findPlugin(ctx context.Context, name string) (*plugins.Plugin, error) {
	if !strings.Contains(name, "@sha256:") {
		return plugins.Named(name)
	}
	c, ref, err := r.openImage(name)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	m, err := c.Fetch(ctx, ref)
	if err != nil {
		return nil, err
	}
	return m.Plugin(name), nil
}

func pushCommand() *cobra.Command {
	var r reach
	c := &cobra.Command{
		Use:   "push FILE|builtin:NAME IMAGE[:TAG]",
		Short: "Store a plugin in an OCI registry, and print the reference with its digest",
		Long: `Store a plugin's module in an OCI registry as a Wasm artifact, under a tag if one is named, and print the reference with its digest: the value for plugins[].image in the configuration.

The module runs in the sandbox for its manifest first; a file that isn't a plugin isn't pushed. The same module always gets the same digest.`,
		Example: `  windlass plugin push ./mine.wasm registry.example/plugins/mine:v1
  windlass plugin push ./mine.wasm 127.0.0.1:5000/mine --plain-http 127.0.0.1:5000`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := plugins.Named(args[0])
			if err != nil {
				return err
			}
			i, err := plugins.Inspect(cmd.Context(), p)
			if err != nil {
				return err
			}
			wasm, err := p.Wasm()
			if err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
			return r.changeImage(cmd, args[1], func(c *oci.Client, ref oci.Reference) (oci.Reference, error) {
				if ref.Digest != "" {
					return ref, fmt.Errorf("%s: the digest follows from the module that is pushed: give a tag, or nothing, instead",
						args[1])
				}
				return c.Push(cmd.Context(), ref, wasm, map[string]string{"org.opencontainers.image.title": i.Manifest.Name,
					"org.opencontainers.image.version": i.Manifest.Version})
			})
		},
	}
	r.addFlags(c.Flags())
	return c
}

func pullCommand() *cobra.Command {
	var r reach
	var output string
	var keys []string
	c := &cobra.Command{
		Use:   "pull IMAGE@sha256:DIGEST",
		Short: "Pull a plugin from an OCI registry, and print its reference",
		Long: `Pull a plugin's module from an OCI registry into a file, and print the reference with its digest. All bytes are compared with their digests; with --key the image must be signed, too.

A tag is rejected, and the error has its present digest: the tag could be another module the next time.`,
		Example: `  windlass plugin pull registry.example/plugins/mine@sha256:... -o plugins/mine.wasm --key cosign.pub`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			public, err := publicKeys(cmd, keys)
			if err != nil {
				return err
			}
			return r.changeImage(cmd, args[0], func(c *oci.Client, ref oci.Reference) (oci.Reference, error) {
				m, _, err := c.Get(cmd.Context(), oci.Image{Reference: ref, Keys: public}, nil)
				if err != nil {
					return ref, err
				}
				mode := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
				if output == "" {
					output, mode = path.Base(ref.Repository)+".wasm", mode|os.O_EXCL
				}
				f, err := os.OpenFile(output, mode, 0o644)
				if errors.Is(err, fs.ErrExist) {
					return ref, fmt.Errorf("%s is there already: name a file with -o", output)
				}
				if err != nil {
					return ref, err
				}
				_, err = f.Write(m.Wasm)
				return ref, errors.Join(err, f.Close())
			})
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "",
		"file to write (default: the repository's last name with .wasm, which must not exist)")
	c.Flags().StringSliceVar(&keys, "key", nil, "public key in PEM, one of which must have signed the image")
	r.addFlags(c.Flags())
	return c
}

func signCommand() *cobra.Command {
	var r reach
	var key, passwordFile string
	c := &cobra.Command{
		Use:   "sign IMAGE@sha256:DIGEST --key FILE",
		Short: "Sign a plugin in an OCI registry, and print its reference",
		Long: `Sign a plugin's image with a private key and put the signature beside it in the registry, as cosign sign --key does: cosign verify --key --insecure-ignore-tlog, Windlass and any other tool that
reads cosign's signatures can check it. Existing signatures stay.

The key is cosign's (cosign generate-key-pair; its password comes from $COSIGN_PASSWORD or --password-file), or a PEM file without a password:
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out plugins.key
  openssl pkey -in plugins.key -pubout -out plugins.pub`,
		Example: `  windlass plugin sign registry.example/plugins/mine@sha256:... --key plugins.key
  COSIGN_PASSWORD=... windlass plugin sign registry.example/plugins/mine@sha256:... --key cosign.key`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			signer, err := signature.ReadSigner(key, func() ([]byte, error) { return password(passwordFile) })
			if err != nil {
				return fmt.Errorf("--key: %w", err)
			}
			return r.changeImage(cmd, args[0], func(c *oci.Client, ref oci.Reference) (oci.Reference, error) {
				return ref, c.Sign(cmd.Context(), ref, signer)
			})
		},
	}
	c.Flags().StringVar(&key, "key", "", "private key in PEM (required)")
	c.Flags().StringVar(&passwordFile, "password-file", "", "file with the key's password, instead of $COSIGN_PASSWORD")
	_ = c.MarkFlagRequired("key")
	r.addFlags(c.Flags())
	return c
}

// password is what an encrypted key is opened with.
func password(file string) ([]byte, error) {
	if file == "" {
		return []byte(os.Getenv("COSIGN_PASSWORD")), nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--password-file: %w", err)
	}
	return []byte(strings.TrimRight(string(b), "\r\n")), nil
}

func verifyCommand() *cobra.Command {
	var r reach
	var keys []string
	c := &cobra.Command{
		Use:   "verify IMAGE@sha256:DIGEST --key FILE",
		Short: "Check the digests and the signature of a plugin in an OCI registry, and print its reference",
		Long: `Check what Windlass checks before it loads the image: the digests of all bytes, and that one of the keys has signed this digest in this repository, in cosign's format.

A signature by cosign sign is accepted, too, if it was made with a key and is stored under a tag beside the image: cosign 3 needs --new-bundle-format=false for that.`,
		Example: `  windlass plugin verify registry.example/plugins/mine@sha256:... --key plugins.pub`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			public, err := publicKeys(cmd, keys)
			if err != nil {
				return err
			}
			return r.changeImage(cmd, args[0], func(c *oci.Client, ref oci.Reference) (oci.Reference, error) {
				_, _, err := c.Get(cmd.Context(), oci.Image{Reference: ref, Keys: public}, nil)
				return ref, err
			})
		},
	}
	c.Flags().StringSliceVar(&keys, "key", nil, "public key in PEM, one of which must have signed the image (required)")
	_ = c.MarkFlagRequired("key")
	r.addFlags(c.Flags())
	return c
}

// publicKeys reads the keys of --key. One that is given and empty, as by a variable that isn't set, is no reason to
// verify nothing.
func publicKeys(cmd *cobra.Command, files []string) ([]signature.Key, error) {
	if cmd.Flags().Changed("key") && len(files) == 0 {
		return nil, errors.New("--key: is empty: name the file of a public key")
	}
	keys, err := signature.ReadKeys(files...)
	if err != nil {
		return nil, fmt.Errorf("--key: %w", err)
	}
	return keys, nil
}

// pulled is the source of images that are here.
type pulled []*plugins.Plugin

// Modules returns the images' modules.
func (p pulled) Modules() ([]*plugins.Plugin, []error) { return p, nil }

// Images pulls all plugins of the configuration that come from registries. An error names the one that can't be had.
func Images(ctx context.Context, k *config.Configuration) (plugins.Source, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	source := oci.NewSource(ctx, func(ctx context.Context, p *plugins.Plugin) (string, error) {
		i, err := plugins.Inspect(ctx, p)
		if err != nil {
			return "", err
		}
		return i.Manifest.Name, nil
	})
	if err := source.Configure(k); err != nil {
		return nil, err
	}

	var all pulled
	for _, i := range source.Wait(ctx) {
		if i.Plugin == nil {
			return nil, fmt.Errorf("plugin %q: %w", i.Name, errors.Join(i.Err, ctx.Err()))
		}
		all = append(all, i.Plugin)
	}
	return all, nil
}
