"""The images' tags: both lead to the same images, and to a kubelet they are two versions."""

FIRST = "1"
NEXT = "2"
