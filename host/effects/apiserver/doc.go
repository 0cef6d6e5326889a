// Package apiserver sends single requests to the API server, and reads what it has of an object or a collection.
//
// A request is sent once: what a lost or an ambiguous answer means is the concern of who has asked.
package apiserver
