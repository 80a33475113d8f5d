"""A cluster of Kubernetes as far as one machine has it: pods as processes, told and asked what their manifests say."""
