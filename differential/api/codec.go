package api

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	proto "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

var protobuf = proto.NewSerializer(legacyscheme.Scheme, legacyscheme.Scheme)

func decoderOf(s *runtime.Scheme) runtime.Decoder {
	return serializer.NewCodecFactory(s).UniversalDeserializer()
}
