package config

import (
	"encoding/csv"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pluginPath is the path of what a flag sets of a plugin: its name, then its workers or those of one controller, or the
// name of a setting.
var pluginPath = regexp.MustCompile(`^plugins\[([^\]]+)\]\.(?:(?:controllers\[([^\]]+)\]\.)?workers|settings\[([^\]]+)\])$`)

// setByPath sets the field at a path to a flag's value. A path that doesn't exist is a mistake in the table of flags,
// which tests find.
func setByPath(c *Configuration, path string, v pflag.Value) error {
	if m := pluginPath.FindStringSubmatch(path); m != nil {
		p := c.configured(m[1])
		switch controller, setting := m[2], m[3]; {
		case setting != "":
			p.setSetting(setting, v.String())
			return nil
		case controller != "":
			return setFromFlag(reflect.ValueOf(&p.configured(controller).Workers).Elem(), v)
		}
		return setFromFlag(reflect.ValueOf(&p.Workers).Elem(), v)
	}
	f, err := findField(c, path)
	if err != nil {
		return err
	}
	return setFromFlag(f, v)
}

// setSetting gives a setting its value.
func (p *Plugin) setSetting(setting, value string) {
	if p.Settings == nil {
		p.Settings = map[string]string{}
	}
	p.Settings[setting] = value
}

// configured returns the entry of a plugin, which it adds where there is none.
func (c *Configuration) configured(plugin string) *Plugin {
	for i := range c.Plugins {
		if c.Plugins[i].Name == plugin {
			return &c.Plugins[i]
		}
	}
	c.Plugins = append(c.Plugins, Plugin{Name: plugin})
	return &c.Plugins[len(c.Plugins)-1]
}

// configured returns the entry of one of the plugin's controllers, which it adds where there is none.
func (p *Plugin) configured(controller string) *PluginController {
	for i := range p.Controllers {
		if p.Controllers[i].Name == controller {
			return &p.Controllers[i]
		}
	}
	p.Controllers = append(p.Controllers, PluginController{Name: controller})
	return &p.Controllers[len(p.Controllers)-1]
}

// findField finds a field by its path in a file, such as clientConnection.qps.
func findField(c *Configuration, path string) (reflect.Value, error) {
	v := valueOf(c)
	for name := range strings.SplitSeq(path, ".") {
		if v.Kind() != reflect.Struct {
			return v, fmt.Errorf("%s: there is no such field", path)
		}
		f, ok := fieldNamed(v, name)
		if !ok {
			return v, fmt.Errorf("%s: there is no field %s", path, name)
		}
		v = f
	}
	return v, nil
}

// setFromFlag sets a field to a flag's value. A flag has checked its text; what the field is too narrow for is an
// error.
func setFromFlag(f reflect.Value, v pflag.Value) error {
	text := v.String()
	switch {
	case f.Type() == durationType:
		d, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		f.Set(reflect.ValueOf(metav1.Duration{Duration: d}))
		return nil
	case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.String:
		list, ok := v.(pflag.SliceValue)
		if !ok {
			return fmt.Errorf("%q isn't a list", text)
		}
		f.Set(reflect.ValueOf(list.GetSlice()))
		return nil
	}

	switch f.Kind() {
	case reflect.String:
		f.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return err
		}
		f.SetBool(b)
	case reflect.Int32, reflect.Int64:
		i, err := strconv.ParseInt(text, 10, f.Type().Bits())
		if err != nil {
			return err
		}
		f.SetInt(i)
	case reflect.Float32:
		x, err := strconv.ParseFloat(text, 32)
		if err != nil {
			return err
		}
		f.SetFloat(x)
	default:
		return fmt.Errorf("a flag can't set a %s", f.Type())
	}

	return nil
}

// formatDefault returns how a flag shows a field's value as its default.
func formatDefault(f reflect.Value) string {
	switch v := f.Interface().(type) {
	case metav1.Duration:
		return v.Duration.String()
	case []string:
		var b strings.Builder
		w := csv.NewWriter(&b)
		_ = w.Write(v) // to memory
		w.Flush()
		return "[" + strings.TrimSuffix(b.String(), "\n") + "]"
	default:
		return fmt.Sprint(v)
	}
}
