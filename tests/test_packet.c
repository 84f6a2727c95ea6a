#include <inkling/packet.h>
int main(void){return 0;}
