// Package plugintest tests plugins.
package plugintest
