package kcm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Flag is one flag. Exactly one of Sets, Does and Why says what it means here; of one that a single controller reads,
// that follows from the controller's plugin.
type Flag struct {
	Name  string
	Value Value  // its type, and its default, both upstream's
	Usage string // for --help, of one that sets or does something

	// the path of the configuration's field that it sets: "clientConnection.qps", "plugins[job].workers",
	// "plugins[replicaset].controllers[replicaset-controller].workers",
	// "plugins[podgc].settings[terminated-pod-gc-threshold]"
	Sets string
	Does string // what it does besides the configuration; the command defines it
	Why  string // it changes nothing: why
	// Of is the controller that reads it, empty if others do, too.
	Of string
	// Workers is that it says how many keys the controller syncs at once.
	Workers bool
	// Differs says why its default is another one here, empty if it isn't.
	Differs string
	// Check refuses values beyond what the type refuses; nil: none.
	Check func(text string) error
}

// Group is a group of flags in --help.
type Group struct {
	Name  string
	Flags []Flag
}

// Add adds the flag to a set, with its default.
func (f *Flag) Add(fs *pflag.FlagSet) {
	usage := f.Usage
	if f.Why != "" {
		usage = "changes nothing: " + f.Why
	}
	f.Value(fs, f.Name, usage)
}

// Groups are all of kube-controller-manager's flags, in the order of its own --help.
var Groups = setMeanings(slices.Concat(generic, serving, controllers, process))

// Value adds a flag of a type, with a default, to a set.
type Value func(fs *pflag.FlagSet, name, usage string)

// Text is a string.
func Text(d string) Value {
	return func(fs *pflag.FlagSet, n, u string) { fs.String(n, d, u) }
}

// Bool is true or false; the bare flag is true.
func Bool(d bool) Value {
	return func(fs *pflag.FlagSet, n, u string) { fs.Bool(n, d, u) }
}

// Int is a number of the machine's size.
func Int(d int) Value {
	return func(fs *pflag.FlagSet, n, u string) { fs.Int(n, d, u) }
}

// Int32 is a number of 32 bits.
func Int32(d int32) Value {
	return func(fs *pflag.FlagSet, n, u string) { fs.Int32(n, d, u) }
}

// Float32 is a number with a fraction.
func Float32(d float32) Value {
	return func(fs *pflag.FlagSet, n, u string) { fs.Float32(n, d, u) }
}

// Float64 is a number with a fraction.
func Float64(d float64) Value {
	return func(fs *pflag.FlagSet, n, u string) { fs.Float64(n, d, u) }
}

// Duration is a time with its unit.
func Duration(d time.Duration) Value {
	return func(fs *pflag.FlagSet, n, u string) { fs.Duration(n, d, u) }
}

// List is strings with commas between them; a flag that is there again adds to them.
func List(d ...string) Value {
	return func(fs *pflag.FlagSet, n, u string) { fs.StringSlice(n, d, u) }
}

// Other is a value of a type of its own.
func Other(value func() pflag.Value) Value {
	return func(fs *pflag.FlagSet, n, u string) { fs.Var(value(), n, u) }
}

// workers is a check of --concurrent-*-syncs. Upstream refuses 0 for most of them; the others would never sync.
func workers(text string) error {
	if n, err := strconv.Atoi(text); err != nil || n < 1 {
		return errors.New("must be at least 1")
	}
	return nil
}

// from1To is a check for a number with a largest one, which upstream has of a few flags.
func from1To(most int) func(string) error {
	return func(text string) error {
		if n, err := strconv.Atoi(text); err != nil || n < 1 || n > most {
			return fmt.Errorf("must be from 1 to %d", most)
		}
		return nil
	}
}

// oneOf is a check for one of a few words.
func oneOf(words ...string) func(string) error {
	return func(text string) error {
		if !slices.Contains(words, text) {
			return fmt.Errorf("must be %s", strings.TrimPrefix(strings.Join(words, " or "), " or ")+emptyChoice(words))
		}
		return nil
	}
}

func emptyChoice(words []string) string {
	if slices.Contains(words, "") {
		return ", or empty"
	}
	return ""
}

// Unbuilt ends the reason why a flag of a controller that isn't here changes nothing; it begins with the controller's
// name.
const Unbuilt = ", which reads it, isn't built yet"

const cloud = "only controllers of cloud providers read it, and there are none here, as there are none in " +
	"kube-controller-manager since v1.31"
