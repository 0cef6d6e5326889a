// A plugin in C, written from abi/abi.proto and docs/abi.md: a namespace with the label isolation.example.com/default-deny=true has a NetworkPolicy that lets nothing in.
// Without the label, it has none. What others make of the policy is put right; a policy of that name that isn't ours is left alone.

#include "protobuf.h"

#define EXPORT(name) __attribute__((export_name(name)))

static const struct bytes resource = TEXT("networking.k8s.io/v1/networkpolicies");
static const struct bytes policy_name = TEXT("default-deny");

static const uint8_t manifest[] = {
#embed "manifest.json"
};

static struct bytes input; // the host's last message

static uint64_t answer(struct bytes b) { return (uint64_t)(uintptr_t)b.at << 32 | b.length; }

EXPORT("windlass_abi_v1") void marker(void) {}

EXPORT("windlass_alloc") uint8_t *alloc(size_t size) {
	uint8_t *at = allocate(size);
	input = (struct bytes){at, size};
	return at;
}

EXPORT("windlass_manifest") uint64_t give_manifest(void) { return answer((struct bytes){manifest, sizeof manifest}); }

EXPORT("windlass_configure") uint64_t configure(void) { return 0; } // there are no settings

// object is one of a view, if there is one.
struct object {
	bool there;
	struct bytes data, version, metadata;
};

static struct object first(struct bytes view) {
	for (struct reader r = read(view); next(&r);) {
		if (r.number == 3) { // ViewData.objects
			struct bytes data = find(r.bytes, 1);
			return (struct object){true, data, find(r.bytes, 2), find(data, 1)};
		}
	}
	return (struct object){0};
}

// denies tells whether the policy's spec is as it should be: for all pods, Ingress, no exceptions.
static bool denies(struct bytes spec) {
	int types = 0;
	for (struct reader r = read(spec); next(&r);) {
		switch (r.number) {
		case 1: // podSelector
			if (r.bytes.length != 0) {
				return false;
			}
			break;
		case 4: // policyTypes
			if (!equal(r.bytes, TEXT("Ingress"))) {
				return false;
			}
			types++;
			break;
		default:
			return false;
		}
	}
	return types == 1;
}

static void put_spec(struct message *policy) {
	struct message spec = {0};
	put_bytes(&spec, 1, (struct bytes){0});
	put_bytes(&spec, 4, TEXT("Ingress"));
	put_bytes(policy, 2, written(&spec));
}

static struct bytes new_policy(struct bytes namespace) {
	struct message metadata = {0}, policy = {0};
	put_bytes(&metadata, 1, policy_name);
	put_bytes(&metadata, 3, namespace);
	put_entry(&metadata, 11, TEXT("app.kubernetes.io/managed-by"), TEXT("default-deny"));
	put_bytes(&policy, 1, written(&metadata));
	put_spec(&policy);
	return written(&policy);
}

// mended is the policy with another spec; all else that it has, it keeps.
static struct bytes mended(struct object have) {
	struct message policy = {0};
	put_bytes(&policy, 1, have.metadata);
	put_spec(&policy);
	return written(&policy);
}

enum kind { CREATE = 1, UPDATE = 2, DELETE = 5 };
enum tolerance { NOT_FOUND = 1, NAMESPACE_TERMINATING = 16 };

// put_effect adds an effect on the namespace's policy to the response. An update and a delete are of the copy that the sync saw.
static void put_effect(struct message *response, enum kind kind, struct bytes namespace, struct object have, struct bytes object, enum tolerance tolerate) {
	struct message effect = {0};
	put_number(&effect, 1, kind);
	put_bytes(&effect, 2, resource);
	put_bytes(&effect, 4, namespace);
	put_bytes(&effect, 5, policy_name);
	if (object.length > 0) {
		put_bytes(&effect, 6, object);
	}
	if (have.there) {
		put_bytes(&effect, 9, find(have.metadata, 5));
		put_bytes(&effect, 10, have.version);
	}
	put_number(&effect, 11, tolerate);
	put_bytes(response, 1, written(&effect));
}

EXPORT("windlass_sync") uint64_t sync(void) {
	struct object namespace = {0}, policy = {0};
	struct bytes key = find(input, 2);
	int view = 0;
	for (struct reader request = read(input); next(&request);) {
		if (request.number == 7) { // SyncRequest.views, in the manifest's order
			*(view++ == 0 ? &namespace : &policy) = first(request.bytes);
		}
	}
	if (!namespace.there || has(namespace.metadata, 9)) {
		return 0; // it is gone or being deleted, and its policy with it
	}
	struct bytes name = find(key, 3);
	bool wanted = equal(entry(namespace.metadata, 11, TEXT("isolation.example.com/default-deny")), TEXT("true"));
	struct message response = {0};
	if (wanted && !policy.there) {
		put_effect(&response, CREATE, name, policy, new_policy(name), NAMESPACE_TERMINATING);
	} else if (wanted && !denies(find(policy.data, 2))) {
		put_effect(&response, UPDATE, name, policy, mended(policy), 0);
	} else if (!wanted && policy.there) {
		put_effect(&response, DELETE, name, policy, (struct bytes){0}, NOT_FOUND);
	}
	return answer(written(&response));
}
