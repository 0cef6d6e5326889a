// Package server serves what the manager says of itself over HTTPS: its health, its metrics, its state, its profiles.
package server
