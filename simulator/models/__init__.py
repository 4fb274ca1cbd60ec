"""The papers' models of training jobs: fluid processor sharing, parameter servers, slots."""
